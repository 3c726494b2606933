import { spawnSync } from "node:child_process";

/**
 * `npm run deploy:local`: a sandbox on a LocalStack-compatible endpoint, LocalStack or MiniStack, on port 4566 or where
 * AWS_ENDPOINT_URL says. Whatever follows `--` goes to `cdk deploy`: `-c carrierUrl=…`, `--outputs-file …`.
 */
const endpoint = (process.env.AWS_ENDPOINT_URL ?? "http://127.0.0.1:4566").replace(/\/$/, "");

const environment = {
  AWS_REGION: "us-east-1",
  AWS_ACCESS_KEY_ID: "test",
  AWS_SECRET_ACCESS_KEY: "test",
  ...process.env,
  AWS_ENDPOINT_URL: endpoint,
  AWS_ENDPOINT_URL_S3: endpoint,
};

const context = {
  stage: "sandbox",
  emulator: endpoint,
  // The functions run on this machine, or in containers made for it.
  architecture: process.arch === "arm64" ? "arm64" : "x86_64",
  // Where the end-to-end suite starts the stand-in carrier.
  carrierUrl: "http://127.0.0.1:4567",
};

const cdklocal = (...args: readonly string[]) => {
  const contexts = Object.entries(context).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
  const { status } = spawnSync("cdklocal", [...args.slice(0, 1), ...contexts, ...args.slice(1)], {
    env: environment,
    stdio: "inherit",
  });
  if (status !== 0) process.exit(status ?? 1);
};

const answers = await fetch(endpoint).then(
  () => true,
  () => false,
);
if (!answers) {
  console.error(`Nothing answers at ${endpoint}: start LocalStack or MiniStack, or set AWS_ENDPOINT_URL.`);
  process.exit(1);
}
cdklocal("bootstrap");
cdklocal("deploy", "--method=direct", "--require-approval=never", ...process.argv.slice(2));
