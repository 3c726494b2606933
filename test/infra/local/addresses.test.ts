import { createServer } from "node:http";
import { afterAll, expect, it, onTestFinished, vi } from "vitest";
import { startCarrier } from "../../../infra/local/carrier.ts";
import { isFree, listen } from "../../../infra/local/listen.ts";
import { form } from "../../support/fixtures/attachments.ts";
import { sendFile } from "../../support/fixtures/upload-content.ts";
import { prepareUpload } from "../../support/fixtures/uploads.ts";
import { localServices } from "../../support/processes/local-service.ts";
import { runNode } from "../../support/processes/shell.ts";
import { byExtent, exhaustive, sampleOf } from "../../support/setup/extent.ts";

/** A port that is free, as are the six after it. */
const sevenPorts = async (): Promise<number> => {
  const first = 20_000 + Math.floor(Math.random() * 10_000);
  const free = await Promise.all(Array.from({ length: 7 }, (_, index) => isFree("127.0.0.1", first + index)));
  return free.every(Boolean) ? first : sevenPorts();
};

const services = localServices();
afterAll(() => services.remove());

it.runIf(exhaustive)(
  "./patchbay start --port has the same addresses after each start, so a signed URL stays valid, and replaces ports that are in use",
  async () => {
    const port = await sevenPorts();
    const args = ["--port", String(port), "--data", services.data];
    const first = await services.start(args);
    const addresses = Object.values(first.environment).filter((value) => value.startsWith("http:"));
    const ports = [...new Set([first.url, ...addresses].map((address) => Number(new URL(address).port)))];
    expect(ports.sort()).toEqual(Array.from({ length: 7 }, (_, index) => port + index));
    const { origin } = new URL(first.environment.EVENTS ?? "");
    expect(first.output.stdout).toContain(`\nevents ${origin}/events\nlambda http://127.0.0.1:${port + 3}\n`);
    process.env.PATCHBAY_URL = first.url;
    const content = new Uint8Array([1]);
    const upload = await prepareUpload(`/api/v1${first.attachments}`, first.demo.KEY ?? "", content);
    await first.kill();
    const holder = await listen(createServer(), port + 2);
    onTestFinished(() => holder.close());
    const second = await services.start(args);
    const line = `In use: ${port + 2} (events). Until the next start, other ports are used.\n`;
    await vi.waitFor(() => expect(second.output.stderr).toBe(line), { timeout: 20_000 });
    const other = expect.not.stringContaining(`:${port + 2}`);
    const environment = { ...first.environment, EVENTS: other, AWS_ENDPOINT_URL_EVENTBRIDGE: other };
    expect([second.url, second.environment]).toEqual([first.url, environment]);
    expect((await fetch(second.environment.EVENTS ?? "")).status).toBe(200);
    expect(await sendFile(upload, content)).toBe(200);
  },
);

it("./patchbay carrier says which option chooses another port, and refuses what is no port", async () => {
  const { port, close } = await listen(createServer());
  onTestFinished(close);
  const inUse = await runNode(["infra/patchbay.ts", "carrier", "--port", String(port)]);
  expect([inUse.code, inUse.stderr]).toEqual([
    1,
    `Port ${port} is in use: pass another --port, or 0 for any free port.\n`,
  ]);
  const { code, stderr } = await runNode(["infra/patchbay.ts", "carrier", "--port", "http"]);
  expect([code, stderr]).toEqual([2, "The port must be a number from 0 to 65535, not http.\n"]);
});

it("npm start gives its services no port that browsers and fetch refuse", async () => {
  const areFree = async (first: number) =>
    (await Promise.all(Array.from({ length: 13 }, (_, index) => isFree("127.0.0.1", first + index)))).every(Boolean);
  const refusedNext = { 4189: [4190], 5059: [5060, 5061], 6664: [6665, 6666, 6667, 6668, 6669], 10079: [10_080] };
  for (const [first, refused] of Object.entries(refusedNext)) {
    if (!(await areFree(Number(first)))) continue;
    const service = await services.start(["--port", first]);
    const addresses = Object.values(service.environment).filter((value) => value.startsWith("http:"));
    const ports = addresses.map((address) => Number(new URL(address).port)).sort();
    const next = Array.from({ length: 13 }, (_, index) => Number(first) + 1 + index);
    expect([...new Set(ports)]).toEqual(next.filter((port) => !refused.includes(port)).slice(0, 6));
    expect((await fetch(`${service.environment.CARRIER_URL}/carts/unknown`)).status).toBeLessThan(500);
    expect(service.output.stderr).toBe("");
    return service.stop();
  }
  throw new Error("None of these ports is free.");
});

it("./patchbay start --carrier-url checks out at the carrier, with its token", async () => {
  const { url, close } = await startCarrier({ token: "a-token-of-a-carrier" });
  onTestFinished(() => close());
  const service = await services.start(["--carrier-url", ` ${url}/ `], { CARRIER_TOKEN: "a-token-of-a-carrier" });
  const { ORDER = "" } = service.demo;
  expect((await service.call("POST", service.attachments, form())).status).toBe(201);
  expect((await service.admin("order", "checkout", ORDER, "--wait")).code).toBe(0);
  expect(service.output.stdout).toContain(`carrier ${url}\n`);
  expect(await service.cart()).toMatchObject({ checked_out: true, attachments: [{ received: 1 }] });
});

const refused: readonly [args: string, env: Record<string, string>, error: string][] = [
  ["--carrier-url carrier.example", {}, "--carrier-url must be an http: or https: URL, not carrier.example."],
  ["--carrier-url https://x/?y=1", {}, "--carrier-url must have no query and no fragment, because"],
  ["--carrier-url https://anna:secret@x", {}, "--carrier-url must have no user name and no password: CARRIER_TOKEN"],
  ["--events-to htp://anna:secret@x/y", {}, "--events-to must be an http: or https: URL, not …@x/y."],
  ["--events-to http://anna:100%@x", {}, "--events-to has a percent sign in its user name or password: write it as"],
  ["--quiet", { CARRIER_URL: "http://x/a b" }, "CARRIER_URL must be an http: or https: URL, not http://x/a b."],
  ["--quiet", { CARRIER_URL: "ftp://x" }, "CARRIER_URL must be an http: or https: URL, not ftp://x."],
  [
    "--upload-origin http://x/y",
    {},
    "--upload-origin must be an origin such as http://localhost:5173, not http://x/y.",
  ],
  ["--carrier-function missing.mjs", {}, "--carrier-function: missing.mjs cannot be loaded: "],
];

it.each(sampleOf(refused, byExtent({ sample: 4, most: 1, all: 1 })))(
  "npm start refuses an option that it cannot use: %s %s",
  async (args, env, error) => {
    const { ready, output } = services.spawnService(args.split(" "), env);
    expect([await ready, output.stderr]).toEqual([false, expect.stringMatching(`^${error}.*\n$`)]);
  },
);
