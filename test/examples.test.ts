import { spawn, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { copyFileSync, mkdtempSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { buffer } from "node:stream/consumers";
import { Stack } from "aws-cdk-lib";
import { Template } from "aws-cdk-lib/assertions";
import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import * as z from "zod/mini";
import { listen } from "../infra/local/listen.ts";
import { form } from "./support/fixtures/attachments.ts";
import { newFolder } from "./support/fixtures/new-folder.ts";
import { localServices, userEnvironment } from "./support/processes/local-service.ts";
import { runNode, runScript } from "./support/processes/shell.ts";
import { exhaustive } from "./support/setup/extent.ts";

/** The programs in docs/examples. Those in Python run only where their packages are installed, as in `.ci/run`. */

const services = localServices();
afterAll(() => services.remove());

const hasPackage = (name: string) => spawnSync("python3", ["-c", `import ${name}`]).status === 0;
const inPython = hasPackage("httpx") ? ["python3 docs/examples/client.py"] : [];

const Attachments = z.object({
  data: z.object({ items: z.array(z.object({ data: z.object({ filename: z.string() }) })) }),
});
const One = z.object({ one: z.object({ id: z.string() }) });
const Applied = z.object({ orders: One, requests: One });

const CarrierCheck = z.object({
  ok: z.boolean(),
  order: z.string(),
  checks: z.array(z.object({ check: z.string(), status: z.string(), found: z.string() })),
});

describe.runIf(exhaustive)("the programs that the README links", () => {
  it.each(["node docs/examples/client.ts", "docs/examples/client.sh", ...inPython])(
    "upload, wait for the carrier and follow events: %s",
    async (program) => {
      const { url, demo, environment, apply, startCheckout } = await services.start([]);
      const file = {
        orders: { one: { account: demo.ACCOUNT } },
        requests: { one: { order: "one", type: "ADD_MESSAGING_NUMBERS" } },
      };
      const { orders, requests } = z.parse(Applied, await apply(file));
      // Names that curl's -F and -T, JSON and command lines would each read in another way.
      const names = [`Smith, John; "LOA" 'v2'=@<1>\t.pdf`, `-scan [1-3] {a,b}; "x"\\y\t%41$HOME.bin`];
      const [loa = "", scan = ""] = names.map((name) => join(newFolder(), name));
      writeFileSync(loa, "%PDF-1.7 signed");
      writeFileSync(scan, randomBytes(5_000_000));
      const { EVENTS } = environment;
      const { output, errors, code } = await runScript(
        `${program} "$LOA" "$SCAN"`,
        { ...userEnvironment, ...demo, URL: url, EVENTS, REQUEST: requests.one.id, LOA: loa, SCAN: scan },
        // The checkout starts once the program has uploaded both files and waits.
        async (line) => {
          if (line.startsWith("Uploaded")) await startCheckout(orders.one.id);
        },
      );
      expect([code, errors]).toEqual([0, expect.not.stringMatching(/error/i)]);
      expect(output.match(/^01\w{24} is with the carrier$/gm)).toHaveLength(2);
      expect(output.match(/request_attachment\.\w+/g)?.sort()).toEqual(
        ["created", "created", "forwarded", "forwarded"].map((event) => `request_attachment.${event}`),
      );
      const listed = await fetch(`${url}/api/v1/requests/${requests.one.id}/attachments`, {
        headers: { authorization: `Bearer ${demo.KEY}` },
      });
      const { data } = z.parse(Attachments, await listed.json());
      expect(data.items.map((item) => item.data.filename)).toEqual([
        // httpx writes a tab as %09.
        expect.stringMatching(/^Smith, John; "LOA" 'v2'=@<1>(%09)?\.pdf$/),
        `-scan [1-3] {a,b}; "x"_y_%41$HOME.bin`,
      ]);
    },
  );
});

/** Patchbay and S3, whose PUTs have these statuses in turn, and 200 then. */
const fakeService = async (...statuses: number[]) => {
  let puts = 0;
  const server = createServer(async (request, response) => {
    await buffer(request);
    const { pathname, origin } = new URL(request.url ?? "", `http://${request.headers.host}`);
    const upload = { id: "UPLOAD", method: "PUT", url: `${origin}/storage`, headers: { "x-signed": "1" } };
    const isUpload = pathname.endsWith("/uploads");
    const forwarding = { data: { state: "forwarded" } };
    if (pathname === "/storage") response.statusCode = statuses[puts++] ?? 200;
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ data: isUpload ? upload : { id: "ATTACHMENT" }, associations: { forwarding } }));
  });
  const { url } = await listen(server, 0);
  onTestFinished(() => void server.close());
  return { url, puts: () => puts };
};

describe("a PUT while S3 still receives an earlier one, a 409,", () => {
  const program = async (command: string, url: string) => {
    const file = join(newFolder(), "scan.bin");
    writeFileSync(file, "scan");
    const env = { ...userEnvironment, URL: url, KEY: "k", REQUEST: "r", FILE: file };
    return (await runScript(`${command} "$FILE" "$FILE"`, env)).code;
  };

  it.runIf(exhaustive).each(["node docs/examples/client.ts", "docs/examples/client.sh", ...inPython])(
    "is repeated until it is stored, by %s",
    async (command) => {
      const { url, puts } = await fakeService(409, 409, 412);
      expect([await program(command, url), puts()]).toEqual([0, 3]);
    },
  );
});

it.each([
  "node docs/examples/client.ts",
  "node docs/examples/list.ts",
  "docs/examples/client.sh",
  "python3 docs/examples/client.py",
])("without arguments or variables, %s prints how it is used, and exits with 2", async (program) => {
  const { output, errors, code } = await runScript(`unset URL KEY REQUEST; ${program}`, userEnvironment);
  expect([code, output, errors]).toEqual([2, "", expect.stringMatching(/KEY.* REQUEST[\s\S]*docs\/examples\//)]);
});

it.runIf(exhaustive && hasPackage("boto3"))(
  "an ordering system with boto3 creates an order and checks it out",
  async () => {
    const { admin, demo, url } = await services.start([]);
    const { stdout: variables } = await admin("env");
    // Users run the program alone in a folder, in a shell that `patchbay env` has set up.
    const folder = mkdtempSync(join(services.state, "..", "ordering-"));
    copyFileSync(join(import.meta.dirname, "../docs/examples/ordering.py"), join(folder, "ordering.py"));
    const run = (command: string) =>
      runScript(`cd '${folder}'\n${variables}\npython3 ordering.py ${command}`, userEnvironment);
    const created = await run(`create ${demo.ACCOUNT}`);
    expect(created).toEqual({
      output: expect.stringMatching(/^order 01\w{24}\nrequest 01\w{24}\n$/),
      errors: "",
      code: 0,
    });
    const [, order = "", request = ""] = /order (\w+)\nrequest (\w+)/.exec(created.output) ?? [];
    const headers = { authorization: `Bearer ${demo.KEY}` };
    const path = `${url}/api/v1/requests/${request}/attachments`;
    expect((await fetch(path, { method: "POST", headers, body: form() })).status).toBe(201);
    expect(await run(`checkout ${order}`)).toEqual({ output: "SUCCEEDED \n", errors: "", code: 0 });
    const shown = await fetch(`${path}?include=forwarding`, { headers });
    expect(await shown.text()).toContain('"state":"forwarded"');
    expect(await run("create nobody")).toMatchObject({
      errors: expect.stringContaining("/orders/order/account"),
      code: 1,
    });
    expect(await run("")).toMatchObject({ errors: expect.stringContaining("ordering.py create <account>"), code: 2 });
  },
);

const hasPython = hasPackage("sqlite3");

/** Starts the example carrier in Python with the carts in this file. It ends with the test at the latest. */
const startPythonCarrier = async (file: string) => {
  const child = spawn("python3", ["docs/examples/carrier.py", "0", file], {
    env: { ...userEnvironment, CARRIER_TOKEN: "a-token-of-a-carrier" },
    stdio: ["ignore", "pipe", "ignore"],
  });
  const exit = once(child, "exit");
  const kill = async () => {
    child.kill("SIGKILL");
    await exit;
  };
  onTestFinished(kill);
  const [line] = await once(createInterface({ input: child.stdout }), "line");
  return { url: String(line).replace("carrier ", ""), kill };
};

it.runIf(exhaustive && hasPython)(
  "the carrier in Python passes carrier check, and keeps its carts over a kill -9",
  async () => {
    const file = join(services.state, "..", "carts.db");
    const first = await startPythonCarrier(file);
    const check = ["infra/patchbay.ts", "carrier", "check", "--url", `${first.url}/`, "--yes", "--json"];
    const { stdout, code } = await runNode(check, { env: { CARRIER_TOKEN: "a-token-of-a-carrier" } });
    const { ok, order, checks } = z.parse(CarrierCheck, JSON.parse(stdout));
    expect([code, ok, checks.filter(({ status }) => status !== "ok")]).toEqual([0, true, []]);
    await first.kill();
    const second = await startPythonCarrier(file);
    const headers = { authorization: "Bearer a-token-of-a-carrier" };
    const cart = await fetch(`${second.url}/carts/${order}`, { headers });
    expect(await cart.json()).toEqual({ checked_out: true });
  },
);

it.runIf(exhaustive && hasPython)("the carrier in Python refuses a letter, in words for the customer", async () => {
  const carrier = await startPythonCarrier(join(services.state, "..", "other-carts.db"));
  const { demo, call, attachments, admin } = await services.start(["--carrier-url", carrier.url], {
    CARRIER_TOKEN: "a-token-of-a-carrier",
  });
  const body = form();
  body.set("data[file]", new Blob(["MZ"]), "letter.exe");
  expect((await call("POST", attachments, body)).status).toBe(201);
  const { code, stdout } = await admin("order", "checkout", demo.ORDER ?? "", "--wait");
  expect([code, stdout.replaceAll(/\s+/g, " ")]).toEqual([1, expect.stringContaining("A program is not a letter.")]);
});

it.runIf(exhaustive)(
  "the example consumers follow the bus with three rules, whose undelivered events go to a queue",
  async () => {
    const { addConsumers } = await import(join(import.meta.dirname, "../docs/examples/consumers.mjs"));
    const stack = new Stack();
    addConsumers(stack);
    const rules = Object.values(Template.fromStack(stack).findResources("AWS::Events::Rule"));
    const followed = rules.map(({ Properties }) => [Properties.EventBusName, Properties.EventPattern["detail-type"]]);
    expect(followed).toEqual([
      ["Patchbay-production", [{ prefix: "switch." }]],
      ["Patchbay-production", ["request_attachment.forwarded", "request_attachment.refused"]],
      ["Patchbay-production", ["order.checkout_failed"]],
    ]);
    for (const { Properties } of rules) expect(Properties.Targets[0].DeadLetterConfig).toBeDefined();
  },
);
