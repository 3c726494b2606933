import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect, it } from "vitest";

const run = (program: string, args: readonly string[], variables: Readonly<Record<string, string>> = {}) => {
  const nowhere = { AWS_ENDPOINT_URL: "http://127.0.0.1:1", PATCHBAY_STATE: "/nonexistent", TABLE_NAME: "" };
  const { status, stderr } = spawnSync(program, args, {
    cwd: join(import.meta.dirname, "../../.."),
    encoding: "utf8",
    env: { ...process.env, ...nowhere, ...variables },
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
});

// npm 10 and 11 set these variables. A later npm refuses options that it does not know.
it.each([
  ["start", "infra/local/run.ts", "data", "--data", "npm start --"],
  ["destroy", "infra/aws/destroy.ts", "call", "-c", "npm run destroy --"],
])("npm run %s refuses to run without the option that npm has kept", (name, file, variable, option, command) => {
  const variables = { npm_lifecycle_event: name, [`npm_config_${variable}`]: "value" };
  expect(run(process.execPath, [file], variables)).toEqual(refusal(option, command));
});
