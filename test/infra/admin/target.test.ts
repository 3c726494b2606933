import { mkdir, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import { DynamoDBClient, UpdateTableCommand } from "@aws-sdk/client-dynamodb";
import { afterAll, describe, expect, inject, it, onTestFinished, vi } from "vitest";
import { listen } from "../../../infra/local/listen.ts";
import { startTable } from "../../../infra/local/table.ts";
import { newId } from "../../../shared/schema/fields.ts";
import { keys } from "../../../shared/table/keys.ts";
import { transact } from "../../../shared/table/write.ts";
import { newFolder } from "../../support/fixtures/new-folder.ts";
import { storeRun, testCart } from "../../support/fixtures/runs.ts";
import { admin as adminProcess } from "../../support/processes/admin-cli.ts";
import { failure } from "../../support/processes/failure.ts";
import { admin } from "../../support/requests/admin.ts";
import { cloudFormation, type Reader } from "../../support/servers/cloudformation.ts";

/**
 * The tests' service, but with the table of this file, because `doctor` reads many items. The process keeps its first clients, so they
 * must be those of the proxies.
 */
const { TABLE_NAME = "", BUCKET_NAME = "", AWS_ENDPOINT_URL_DYNAMODB = "", AWS_ENDPOINT_URL_S3 = "" } = process.env;
const own = { TABLE_NAME, BUCKET_NAME, AWS_ENDPOINT_URL_DYNAMODB, AWS_ENDPOINT_URL_S3 };
const environment: Readonly<Record<string, string>> = { ...inject("environment"), ...own };

/** Writes the states of several running local stacks, which are all the stack of these tests, with different ports. */
const localStacks = async (...ports: readonly number[]) => {
  const folder = newFolder();
  for (const port of ports) {
    const state = {
      pid: process.pid,
      url: `http://127.0.0.1:${port}`,
      port,
      environment,
      demo: { KEY: `apik_${port}` },
      startedAt: new Date().toISOString(),
    };
    await writeFile(join(folder, `${port}.json`), JSON.stringify(state));
  }
  return { PATCHBAY_STATE: folder, TABLE_NAME: "", PORT: "", PATCHBAY_STACK: "" };
};

const nowhere = { AWS_EC2_METADATA_DISABLED: "true", AWS_CONFIG_FILE: "/none", AWS_SHARED_CREDENTIALS_FILE: "/none" };

/** Drops progress lines, because on a busy machine, any command may take long enough to print them. */
const withoutProgress = (stderr: string) => stderr.replaceAll(/^.* …, \d+ s\n/gm, "");

describe("the target of a command", () => {
  it("is the only running local stack, and every command names it on stderr", async () => {
    const env = await localStacks(49001);
    const { code, stdout, stderr } = await admin(["env", "--no-aws"], { env });
    expect([code, stdout]).toEqual([0, expect.stringContaining("export URL='http://127.0.0.1:49001'\n")]);
    expect(stdout).not.toContain("AWS_");
    const { stdout: forSdk } = await admin(["env"], { env });
    for (const name of ["AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"])
      expect(forSdk).toMatch(new RegExp(`^export ${name}=.`, "m"));
    expect(stderr).toBe("Target: local stack at http://127.0.0.1:49001\n");
    const listed = await admin(["account", "list"], { env });
    expect([listed.code, withoutProgress(listed.stderr)]).toEqual([0, stderr]);
  });

  it("is the local stack on PORT and no other", async () => {
    const env = { ...(await localStacks(49001)), PORT: "49999" };
    const none = /^There is no local stack running on port 49999\. These are running:\n {2}--port 49001 /;
    for (const command of [["env"], ["account", "list"]])
      expect(await admin(command, { env }), command.join(" ")).toEqual(failure(1, none));
  });

  it("must be chosen if two local stacks run, which are listed", async () => {
    const env = await localStacks(49002, 49001);
    const both = /^Several local stacks are running.*\n {2}--port 49001 .*\n {2}--port 49002 .*\n$/;
    expect(await admin(["account", "list"], { env })).toEqual(failure(1, both));
    expect((await admin(["env", "--port", "49002"], { env })).stdout).toContain("export KEY='apik_49002'\n");
    expect((await admin(["env"], { env: { ...env, PORT: "49001" } })).stdout).toContain("export KEY='apik_49001'\n");
  });

  it("cannot be given by both --stack and --port", async () => {
    expect(await admin(["--stack", "X", "account", "list", "--port", "1"])).toEqual(failure(2, "choose one of them"));
  });
});

const outputs = {
  TableName: TABLE_NAME,
  BucketName: BUCKET_NAME,
  StateMachineArn: environment.STATE_MACHINE_ARN ?? "",
};
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

  it("is found by --stack after deploy-local", async () => {
    const { code, stderr } = await admin(["--stack", "Patchbay-here", "account", "list"], { env: await noted() });
    expect([code, withoutProgress(stderr)]).toEqual([0, `Target: stack Patchbay-here at ${url}\n`]);
  });

  it("of another version is only read, unless --any-version is given", async () => {
    const older = await listen(cloudFormation("Patchbay-here", { ...outputs, Version: "0.9.0" }));
    onTestFinished(older.close);
    const env = { ...(await noted()), AWS_ENDPOINT_URL: older.url };
    const differs =
      "The stack Patchbay-here has version 0.9.0, and this clone 1.0.0. To change anything, use a clone of v0.9.0";
    const stack = ["--stack", "Patchbay-here"];
    const read = await admin([...stack, "account", "list"], { env });
    expect([read.code, read.stderr]).toEqual([0, expect.stringContaining(`\n${differs}`)]);
    for (const change of [["account", "create", "--name", "Other"], ["order", "checkout", "--failed"], ["sweep"]])
      expect(await admin([...stack, ...change], { env }), change.join(" ")).toEqual(failure(1, differs));
    const created = await admin([...stack, "account", "create", "--name", "Other", "--any-version"], { env });
    expect([created.code, created.stderr]).toEqual([0, expect.stringContaining(differs)]);
  });

  it("is named in the error if it does not exist", async () => {
    const gone = await admin(["--stack", "Patchbay-gone", "account", "list"], { env: await noted() });
    expect(gone).toEqual(failure(1, `There is no Patchbay stack Patchbay-gone at ${url}`));
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

type Finding = { check: string; status: string; found: string; remedy: string | null };

/** The checks of doctor by their status. Faults and notices have their remedies. */
const doctor = async (args: readonly string[], env: Record<string, string>) => {
  const { code, stdout } = await admin([...args, "doctor", "--json"], { env });
  const { checks }: { checks: Finding[] } = JSON.parse(stdout);
  const { ok = [], FAULT = [], notice = [], skipped = [] } = Object.groupBy(checks, ({ status }) => status);
  const names = (found: readonly Finding[]) => found.map(({ check }) => check);
  const remedies = (found: readonly Finding[]) => Object.fromEntries(found.map(({ check, remedy }) => [check, remedy]));
  return { code, ok: names(ok), faults: remedies(FAULT), notices: remedies(notice), skipped: names(skipped) };
};
const checksOfTarget = [
  "table",
  "table's TTL",
  "table's stream",
  "table's writes",
  "API keys",
  "bucket",
  "bucket's writes",
  "workflow",
  "carrier",
  "carrier's name",
];

describe("doctor", () => {
  it("finds no fault in a working setup, but a table that has no stream", async () => {
    const TableName = `with-stream-${crypto.randomUUID()}`;
    await startTable(TableName, { endpoint: process.env.AWS_ENDPOINT_URL_DYNAMODB });
    const ok = ["node", "target", "region", "credentials", ...checksOfTarget].filter((check) => check !== "API keys");
    const notices = { "API keys": expect.stringContaining("this is the wrong table") };
    const remedy = expect.stringContaining("./patchbay restore");
    expect(await doctor([], { TABLE_NAME: TableName })).toEqual({
      code: 1,
      ok: ok.filter((check) => check !== "table's stream"),
      faults: { "table's stream": remedy },
      notices,
      skipped: [],
    });
    const StreamSpecification = { StreamEnabled: true, StreamViewType: "NEW_IMAGE" } as const;
    await new DynamoDBClient().send(new UpdateTableCommand({ TableName, StreamSpecification }));
    expect(await doctor([], { TABLE_NAME: TableName })).toEqual({ code: 0, ok, faults: {}, notices, skipped: [] });
  });

  it("says which other carrier the open orders were sent to", async () => {
    const TABLE_NAME = `carriers-${crypto.randomUUID()}`;
    await startTable(TABLE_NAME, { endpoint: process.env.AWS_ENDPOINT_URL_DYNAMODB });
    vi.stubEnv("TABLE_NAME", TABLE_NAME);
    onTestFinished(() => void vi.unstubAllEnvs());
    for (const cart of [
      testCart,
      testCart.replace("carrier", "first-carrier"),
      testCart.replace("carrier", "carriers"),
    ]) {
      const id = newId();
      await transact({ open: { put: { ...keys.openCheckout(id), id } } });
      await storeRun(id, { cart });
    }
    const told = async (CARRIER_NAME: string) => {
      const { stdout } = await admin(["doctor", "--json"], { env: { TABLE_NAME, CARRIER_NAME } });
      const { checks }: { checks: Finding[] } = JSON.parse(stdout);
      return checks.filter(({ check }) => check === "carrier's name");
    };
    expect(await told("carrier")).toEqual([
      {
        check: "carrier's name",
        status: "notice",
        found: expect.stringMatching(
          /^it is carrier, but of the 3 open orders, (first-carrier has 1, carriers has 1|carriers has 1, first-carrier has 1)$/,
        ),
        remedy: expect.stringContaining('"Another carrier"'),
      },
    ]);
    expect(await told("")).toMatchObject([{ status: "notice", remedy: "Set CARRIER_NAME." }]);
  });

  /** The environment of a stack on AWS that has these outputs, too. */
  const stackOnAws = async (
    more: Record<string, string>,
    { isNew = false, reader }: { isNew?: boolean; reader?: Reader | undefined } = {},
  ) => {
    const api = createServer((_, outgoing) => outgoing.writeHead(401).end());
    const { url: BaseUrl, close: closeApi } = await listen(api);
    onTestFinished(closeApi);
    const { url: endpoint, close: closeService } = await listen(
      cloudFormation(
        "Patchbay-here",
        { ...outputs, BaseUrl, CarrierUrl: BaseUrl, CarrierTokenArn: "a", EventReaderId: "r", ...more },
        isNew,
        reader,
      ),
    );
    onTestFinished(closeService);
    const env = Object.fromEntries(
      ["CLOUDFORMATION", "CLOUDTRAIL", "CLOUDWATCH", "LAMBDA", "SNS", "SECRETS_MANAGER"].map((name) => [
        `AWS_ENDPOINT_URL_${name}`,
        endpoint,
      ]),
    );
    return { ...env, AWS_ENDPOINT_URL: "" };
  };

  /** The diagnosis of such a stack. */
  const ofStack = async (more: Record<string, string>, of: { isNew?: boolean } = {}) =>
    doctor(["--stack", "Patchbay-here"], await stackOnAws(more, of));

  it("says of a stack on its first day what it lacks, and of one that has all that it has it", async () => {
    const remedies = {
      "deletion protection": "The stage of production has `retainData`",
      "stack policy": "set-stack-policy",
      "audit trail": "put-event-selectors",
      "carrier's token": "put-secret-value",
      pages: "Confirm it with the link",
      tickets: "Confirm it with the link",
    };
    for (const isNew of [true, false]) {
      const {
        ok,
        faults,
        notices: { "API keys": _, "carrier's name": _name, ...notices },
      } = await ofStack({ PageTopicArn: "b", TicketTopicArn: "c" }, { isNew });
      expect(ok).toEqual(expect.arrayContaining(["API", "events"]));
      // The tests' table lacks deletion protection, a stream and backups.
      const expected = isNew ? remedies : { "deletion protection": remedies["deletion protection"] };
      expect(notices).toEqual(
        Object.fromEntries(Object.entries(expected).map(([check, text]) => [check, expect.stringContaining(text)])),
      );
      expect(Object.keys(faults)).not.toContain("API");
    }
  });

  it("reports on AWS what this machine cannot reach, because the functions may", async () => {
    const { notices } = await ofStack({ CarrierUrl: "http://127.0.0.1:9" });
    expect(notices.carrier).toContain("It may also take calls from the functions only.");
  });

  it.each([
    ["nothing responds", undefined, "FAULT", "Start the carrier, or correct its address."],
    ["it shows a page", [200, "<html>Welcome</html>"], "FAULT", "Correct the carrier's address"],
    ["nothing serves the address", [404, ""], "FAULT", "Correct the carrier's address"],
    ["a proxy says so with a page", [404, "<html>Not found</html>"], "FAULT", "Correct the carrier's address"],
    ["it says so in JSON", [404, '{"message": "no Route matched"}'], "notice", "./patchbay carrier check"],
    ["it cannot say", [501, "{}"], "notice", "./patchbay carrier check"],
    ["it refuses the token", [401, "{}"], "FAULT", "Store the token"],
    ["it refuses the token with a page", [403, "<html>Forbidden</html>"], "FAULT", "Store the token"],
    ["it redirects", [302, ""], "FAULT", "Correct the carrier's address"],
    ["it is unavailable", [503, ""], "FAULT", "Until then, checkouts wait"],
    ["it says that a cart that does not exist is checked out", [200, '{"checked_out": true}'], "FAULT", "Correct"],
  ] as const)("asks the carrier: %s", async (_, response, status, remedy) => {
    const [code, body] = response ?? [];
    const { url: CARRIER_URL, close: closeCarrier } = await listen(
      createServer((_incoming, outgoing) => (code ? outgoing.writeHead(code).end(body) : outgoing.destroy())),
    );
    onTestFinished(closeCarrier);
    const { faults, notices } = await doctor([], { CARRIER_URL, CARRIER_TOKEN: "the-carrier-token" });
    expect({ FAULT: faults, notice: notices }[status]).toMatchObject({ carrier: expect.stringContaining(remedy) });
  });

  it("asks the carrier, and says that this shell has no token for it", async () => {
    const { url: CARRIER_URL, close: closeCarrier } = await listen(
      createServer((_incoming, outgoing) => outgoing.writeHead(401).end("\u001b[2J")),
    );
    onTestFinished(closeCarrier);
    const { stdout } = await admin(["doctor"], { env: { CARRIER_URL, CARRIER_TOKEN: "" } });
    expect(stdout).toContain(`carrier: ${CARRIER_URL}: 401 \\u001b[2J\n         Set CARRIER_TOKEN in this shell`);
  });

  it("finds no fault in the alarms of a sandbox, which has none", async () => {
    const { faults, notices } = await ofStack({});
    expect(notices.pages).toEqual(expect.stringContaining("Set `pageEmail`"));
    expect(notices.tickets).toEqual(expect.stringContaining("Set `ticketEmail`"));
    expect(Object.keys(faults)).not.toContain("pages");
  });

  /** One check of such a stack. */
  const checkOfStack = async (name: string, more: Record<string, string>, reader?: Reader) => {
    const { stdout } = await admin(["--stack", "Patchbay-here", "doctor", "--json"], {
      env: await stackOnAws(more, { reader }),
    });
    const { checks }: { checks: Finding[] } = JSON.parse(stdout);
    return checks.find(({ check }) => check === name);
  };

  it.each<[what: string, reader: Reader, status: string, found: string]>([
    ["is disabled", { State: "Disabled" }, "FAULT", "it is disabled (User action)"],
    [
      "may not read",
      { State: "Enabled", LastProcessingResult: "PROBLEM: access denied" },
      "FAULT",
      'its last result is "PROBLEM: access denied"',
    ],
    ["has read nothing", { State: "Enabled" }, "ok", "enabled; it has published no event in the last 24 hours"],
    ["is in time", { State: "Enabled", ageMs: 400 }, "ok", "published at 2027-01-15T08:00:00.000Z, 400 ms after"],
    ["is late", { State: "Enabled", ageMs: 700_000 }, "notice", "700000 ms after their change"],
  ])("says so of a stack whose reader of the stream %s", async (_what, reader, status, found) => {
    const remedy = status === "ok" ? null : expect.stringMatching(/Enable the mapping|LateEvents/);
    expect(await checkOfStack("events", {}, reader)).toMatchObject({
      status,
      found: expect.stringContaining(found),
      remedy,
    });
  });

  it("says of a stack with an empty table that every request returns 401, though its API responds", async () => {
    const TableName = `empty-${crypto.randomUUID()}`;
    await startTable(TableName, { endpoint: process.env.AWS_ENDPOINT_URL_DYNAMODB });
    expect((await ofStack({ TableName })).ok).toContain("API");
    const found = "the table is empty: every request returns 401";
    expect(await checkOfStack("API keys", { TableName })).toMatchObject({ status: "notice", found });
    const env = { TABLE_NAME: TableName };
    const { code } = await admin(["account", "create", "--name", "Acme"], { env });
    const without = "no account has a key: every request returns 401";
    expect([code, await checkOfStack("API keys", { TableName })]).toMatchObject([0, { found: without }]);
  });

  it("finds an API that does not respond as its functions do, on an emulator, too", async () => {
    const { url: BaseUrl, close: closeApi } = await listen(
      createServer((_, outgoing) => outgoing.writeHead(502).end()),
    );
    onTestFinished(closeApi);
    const { url: endpoint, close: closeService } = await listen(
      cloudFormation("Patchbay-here", { ...outputs, BaseUrl }),
    );
    onTestFinished(closeService);
    const env = { AWS_ENDPOINT_URL: endpoint, AWS_ENDPOINT_URL_S3: process.env.AWS_ENDPOINT_URL_S3 ?? "" };
    const { stdout } = await admin(["--stack", "Patchbay-here", "doctor"], { env });
    expect(stdout).toMatch(/FAULT {4}API: GET http:\S+ without an API key returns 502, not 401\n +Look at its alarms/);
    expect(stdout).not.toContain("carrier's token");
  });

  it("names the last run and when it began or ended, and leaves out a start beside a running one", async () => {
    const run = (name: string, status: string, more: object = {}) => ({
      executionArn: name,
      name,
      status,
      startDate: 1.8e9,
      ...more,
    });
    const refused = run("refused", "FAILED", { stopDate: 1.8e9 });
    let executions = [refused, run("running", "RUNNING")];
    const server = createServer((incoming, outgoing) => {
      const isList = String(incoming.headers["x-amz-target"]).endsWith("ListExecutions");
      outgoing.end(JSON.stringify(isList ? { executions } : { ...refused, error: "AlreadyRunning" }));
    });
    const { url, close } = await listen(server);
    const told = async () => (await admin(["doctor"], { env: { AWS_ENDPOINT_URL_SFN: url } })).stdout;
    expect(await told()).toMatch(/checkout, last run running RUNNING, started at 2027-01-15T08:00:00\.000Z\n/);
    executions = [refused, run("done", "SUCCEEDED", { stopDate: 1.8e9 + 9 })];
    expect(await told()).toMatch(/checkout, last run done SUCCEEDED, ended at 2027-01-15T08:00:09\.000Z\n/);
    await close();
  });

  it("has a remedy for each fault of the target", async () => {
    const env = {
      CARRIER_URL: "http://127.0.0.1:9",
      TABLE_NAME: "no-such-table",
      AWS_ENDPOINT_URL_S3: "http://127.0.0.1:9",
      STATE_MACHINE_ARN: "",
    };
    const faults = Object.fromEntries(checksOfTarget.map((check) => [check, expect.any(String)]));
    expect(await doctor([], env)).toMatchObject({ code: 1, faults });
  });

  it("reports missing credentials and the checks that it skips", async () => {
    const env = { ...(await localStacks()), ...nowhere, AWS_ACCESS_KEY_ID: "", AWS_SECRET_ACCESS_KEY: "" };
    expect(await doctor(["--stack", "Patchbay-sandbox"], env)).toEqual({
      code: 1,
      ok: ["node", "region"],
      faults: { target: expect.anything(), credentials: expect.stringContaining("aws sso login") },
      notices: {},
      skipped: checksOfTarget,
    });
  });

  it("reports a missing region and what to do about it", async () => {
    const { code, faults } = await doctor([], { ...nowhere, AWS_REGION: "", AWS_DEFAULT_REGION: "" });
    expect([code, faults.region]).toEqual([1, expect.stringContaining("AWS_REGION")]);
  });
});

describe("an AWS error", () => {
  it("says what to do", async () => {
    const env = { ...nowhere, AWS_REGION: "", AWS_DEFAULT_REGION: "", AWS_ENDPOINT_URL_DYNAMODB: "" };
    expect(await adminProcess(["account", "list"], { env })).toEqual(failure(1, "set AWS_REGION"));
    const unreachable = { AWS_ENDPOINT_URL_DYNAMODB: "http://127.0.0.1:9" };
    expect(await adminProcess(["account", "list"], { env: unreachable })).toEqual(
      failure(1, "The service could not be reached"),
    );
  });
});
