import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, describe, expect, inject, it } from "vitest";
import { listen } from "../../../infra/local/listen.ts";
import { newFolder } from "../../support/fixtures/new-folder.ts";
import { admin as adminProcess } from "../../support/processes/admin-cli.ts";
import { admin } from "../../support/requests/admin.ts";
import { cloudFormation } from "../../support/servers/cloudformation.ts";

/** Writes the state of running local stacks. All of them are the stack of these tests, under different ports. */
const localStacks = async (...ports: readonly number[]) => {
  const folder = newFolder();
  for (const port of ports) {
    const state = {
      pid: process.pid,
      url: `http://127.0.0.1:${port}`,
      port,
      environment: inject("environment"),
      demo: { KEY: `apik_${port}` },
      startedAt: new Date().toISOString(),
    };
    await writeFile(join(folder, `${port}.json`), JSON.stringify(state));
  }
  return { PATCHBAY_STATE: folder, TABLE_NAME: "", PORT: "", PATCHBAY_STACK: "" };
};

const nowhere = { AWS_EC2_METADATA_DISABLED: "true", AWS_CONFIG_FILE: "/none", AWS_SHARED_CREDENTIALS_FILE: "/none" };
const noCredentials = { ...nowhere, AWS_ACCESS_KEY_ID: "", AWS_SECRET_ACCESS_KEY: "" };

/** Drops progress lines: on a busy machine, any command may take long enough to print them. */
const withoutProgress = (stderr: string) => stderr.replaceAll(/^.* …, \d+ s\n/gm, "");

describe("the target of a command", () => {
  it("is the only running local stack, and every command names it on stderr", async () => {
    const env = await localStacks(49001);
    const { code, stdout, stderr } = await admin(["env"], { env });
    expect([code, stdout]).toEqual([0, expect.stringContaining("export URL=http://127.0.0.1:49001\n")]);
    expect(stderr).toBe("Target: local stack at http://127.0.0.1:49001\n");
    const listed = await admin(["account", "list", "--json"], { env });
    expect([listed.code, withoutProgress(listed.stderr)]).toEqual([
      0,
      "Target: local stack at http://127.0.0.1:49001\n",
    ]);
  });

  it("is the local stack on PORT and no other", async () => {
    const env = { ...(await localStacks(49001)), PORT: "49999" };
    for (const command of [["env"], ["account", "list"]]) {
      const { code, stdout, stderr } = await admin(command, { env });
      expect([code, stdout, stderr], command.join(" ")).toEqual([
        1,
        "",
        expect.stringMatching(/^There is no local stack running on port 49999\. These are running:\n {2}--port 49001 /),
      ]);
    }
  });

  it("must be chosen if two local stacks run, which are listed", async () => {
    const env = await localStacks(49002, 49001);
    const { code, stdout, stderr } = await admin(["account", "list"], { env });
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toMatch(/^Several local stacks are running.*\n {2}--port 49001 .*\n {2}--port 49002 .*\n$/);
    const chosen = await admin(["env", "--port", "49002"], { env });
    expect(chosen.stdout).toContain("export KEY=apik_49002\n");
    expect((await admin(["env"], { env: { ...env, PORT: "49001" } })).stdout).toContain("export KEY=apik_49001\n");
  });

  it("cannot be given by both --stack and --port", async () => {
    const { code, stderr } = await admin(["--stack", "X", "account", "list", "--port", "1"]);
    expect([code, stderr]).toEqual([2, expect.stringContaining("choose one of them")]);
  });
});

const { TABLE_NAME: TableName = "", BUCKET_NAME: BucketName = "", ...others } = inject("environment");
const outputs = { TableName, BucketName, StateMachineArn: others.STATE_MACHINE_ARN ?? "" };
const { url, close } = await listen(cloudFormation("Patchbay-here", outputs));
afterAll(close);

describe("a stack on an emulator", () => {
  const noted = async () => {
    const env = await localStacks();
    await mkdir(join(env.PATCHBAY_STATE, "emulators"));
    const note = (name: string) => join(env.PATCHBAY_STATE, "emulators", `${name}.json`);
    await writeFile(note("Patchbay-here"), JSON.stringify({ endpoint: url }));
    await writeFile(note("Patchbay-gone"), JSON.stringify({ endpoint: url }));
    return env;
  };

  it("is found by --stack after deploy:local", async () => {
    const { code, stderr } = await admin(["--stack", "Patchbay-here", "account", "list", "--json"], {
      env: await noted(),
    });
    expect([code, withoutProgress(stderr)]).toEqual([0, `Target: stack Patchbay-here at ${url}\n`]);
  });

  it("is named in the error if it does not exist", async () => {
    const { code, stderr } = await admin(["--stack", "Patchbay-gone", "account", "list"], { env: await noted() });
    expect([code, stderr]).toEqual([1, expect.stringContaining(`There is no Patchbay stack Patchbay-gone at ${url}`)]);
  });

  it("is checked by doctor, of which a service may be elsewhere", async () => {
    const env = { ...(await noted()), AWS_ENDPOINT_URL_SFN: "http://127.0.0.1:9" };
    const { code, stdout } = await admin(["--stack", "Patchbay-here", "doctor"], { env });
    expect(code).toBe(1);
    expect(stdout).toContain(`ok       target: stack Patchbay-here at ${url}\n`);
    expect(stdout).toMatch(/ok {7}table: /);
    expect(stdout).toMatch(/FAULT {4}workflow: .*ECONNREFUSED.*127\.0\.0\.1:9\n +The service could not be reached/);
  });
});

type Finding = { check: string; status: string; remedy: string | null };

const doctor = async (args: readonly string[], env: Record<string, string>) => {
  const { code, stdout } = await admin([...args, "doctor", "--json"], { env });
  const { checks }: { checks: Finding[] } = JSON.parse(stdout);
  const named = (status: string) => checks.filter((each) => each.status === status).map(({ check }) => check);
  return { code, named, remedyOf: (name: string) => checks.find(({ check }) => check === name)?.remedy };
};

describe("doctor", () => {
  it("reports missing credentials and the checks that it skips", async () => {
    const env = { ...(await localStacks()), ...noCredentials };
    const { code, named, remedyOf } = await doctor(["--stack", "Patchbay-sandbox"], env);
    expect([code, named("ok"), named("FAULT")]).toEqual([1, ["node", "region"], ["target", "credentials"]]);
    expect(remedyOf("credentials")).toContain("aws sso login");
    expect(named("skipped")).toEqual(["table", "table's TTL", "table's stream", "bucket", "workflow"]);
  });

  it("reports a missing region and what to do about it", async () => {
    const { code, named, remedyOf } = await doctor([], { ...nowhere, AWS_REGION: "", AWS_DEFAULT_REGION: "" });
    expect([code, named("FAULT")]).toEqual([1, expect.arrayContaining(["region"])]);
    expect(remedyOf("region")).toContain("AWS_REGION");
  });
});

describe("an AWS error", () => {
  it("says what to do", async () => {
    const env = { ...nowhere, AWS_REGION: "", AWS_DEFAULT_REGION: "", AWS_ENDPOINT_URL_DYNAMODB: "" };
    const { code, stderr } = await adminProcess(["account", "list"], { env });
    expect([code, stderr]).toEqual([1, expect.stringContaining("set AWS_REGION")]);
    const unreachable = await adminProcess(["account", "list"], {
      env: { AWS_ENDPOINT_URL_DYNAMODB: "http://127.0.0.1:9" },
    });
    expect([unreachable.code, unreachable.stderr]).toEqual([
      1,
      expect.stringContaining("The service could not be reached"),
    ]);
  });
});
