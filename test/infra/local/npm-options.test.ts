import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect, it } from "vitest";

const run = (program: string, args: readonly string[], variables: Readonly<Record<string, string>> = {}) => {
  const nowhere = { AWS_ENDPOINT_URL: "http://127.0.0.1:1", PATCHBAY_STATE: "/nonexistent", TABLE_NAME: "" };
  const { status, stderr } = spawnSync(program, args, {
    cwd: join(import.meta.dirname, "../../.."),
    encoding: "utf8",
    env: { ...process.env, ...nowhere, ...variables },
    timeout: 30_000,
  });
  return [status, stderr];
};

const refusal = (option: string, command: string) => [
  1,
  `npm took ${option} as an option of its own. Put -- before the options: ${command} ${option} …\n`,
];

it("A command refuses to run without an option that npm has taken because it does not follow --", () => {
  expect(run("npm", ["-s", "run", "admin", "sweep", "--dry-run"])).toEqual(
    refusal("--dry-run", "npm run admin -- sweep"),
  );
  expect(run("npm", ["-s", "run", "destroy", "-c", "name=other"])).toEqual(refusal("-c", "npm run destroy --"));
});

it("npm start refuses to keep data in memory if npm has taken --data", () => {
  // npm 10 and 11 set these variables. A later npm refuses options that it does not know.
  const variables = { npm_lifecycle_event: "start", npm_config_data: "folder" };
  expect(run(process.execPath, ["infra/local/run.ts"], variables)).toEqual(refusal("--data", "npm start --"));
});
