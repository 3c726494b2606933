import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { buildSync } from "esbuild";
import { bundle, bundleOptions } from "../../infra/aws/bundle.ts";
import { firstState } from "../../shared/checkout/checkout-schema.ts";
import { steps } from "../../shared/checkout/steps.ts";
import { routes } from "../../shared/routes.ts";
import { requestPerEndpoint } from "../support/requests/request-per-endpoint.ts";
import { interleaved, median, round, type Section } from "./figures.ts";
import { benchService } from "./service.ts";
import { certificate, startTls } from "./tls/front.ts";

const others = ["bare-dynamodb", "bare-both", "plain-show"];
/** The function that does what `plain-show` does. */
const shown = "switches/show";

/** Builds the bare clients with the same options as the functions, but with the SDK's defaults. */
const bundleOthers = (outdir: string) =>
  buildSync({
    ...bundleOptions,
    entryPoints: others.map((name) => ({ in: `test/bench/apps/${name}.ts`, out: `${name}/index` })),
    outdir,
  });

/** In milliseconds. */
type Times = { readonly first: number; readonly whole: number; readonly processor: number };

const runChild = promisify(execFile);
const child = join(import.meta.dirname, "cold-child.ts");

/** The complete input of a step. */
const stateOf = (order_id: string) => ({
  run: "bench",
  started_at: new Date().toISOString(),
  state: { ...firstState(order_id), version: 0 },
});

const needsFiles = (name: string) =>
  [...routes, ...steps].some((row) => row.name === name && row.grants.files.length > 0);

/** Measures import and first response of each bundle, compared with bare clients. */
export const cold = async (repetitions: number): Promise<Section> => {
  const service = await benchService();
  const folder = mkdtempSync(join(tmpdir(), "patchbay-bench-"));
  const ours = [...routes, ...steps];
  const names = ours.map(({ name }) => name);
  await bundle(ours, join(folder, "ours"));
  bundleOthers(join(folder, "others"));
  const prepare = requestPerEndpoint(service.send, service.place);
  const table = await startTls(service.environment.AWS_ENDPOINT_URL_DYNAMODB);
  const files = await startTls(service.environment.AWS_ENDPOINT_URL_S3);
  const overTls = {
    AWS_ENDPOINT_URL_DYNAMODB: table.url,
    AWS_ENDPOINT_URL_S3: files.url,
    NODE_EXTRA_CA_CERTS: certificate,
  };
  const entryOf = (name: string) => {
    const { file, handler = "handler" } = ours.find((row) => row.name === name) ?? { file: `../others/${name}` };
    return { file: join(folder, "ours", file, "index.mjs"), handler };
  };
  const eventsOf = async (name: string) => {
    if (name.startsWith("checkout/")) return { refused: {}, complete: stateOf(service.place.order) };
    const complete = await service.eventOf(await (prepare[name] ?? prepare[shown] ?? Promise.reject)());
    return { refused: { ...complete, headers: {}, multiValueHeaders: {} }, complete };
  };
  const start = async (name: string) => {
    const eventFile = join(folder, "event.json");
    writeFileSync(eventFile, JSON.stringify(await eventsOf(name)));
    const { file, handler } = entryOf(name);
    const { stdout } = await runChild(process.execPath, [child, file, handler, eventFile], {
      env: { ...process.env, ...service.environment, ...overTls, NODE_NO_WARNINGS: "1" },
    });
    const { status, ...times }: Times & { readonly status: number } = JSON.parse(stdout);
    if (status >= 400) throw new Error(`${name} returned ${status}`);
    return times;
  };
  const all = [...others, ...names];
  const times = await interleaved(Object.fromEntries(all.map((name) => [name, () => start(name)])), repetitions);
  const medianOf = (name: string, time: keyof Times) => median(times.get(name)?.map((each) => each[time]) ?? []);
  const sizes = new Map(all.map((name) => [name, statSync(entryOf(name).file).size]));
  rmSync(folder, { recursive: true });
  const rows = all.map((name) => {
    const bare = needsFiles(name) || name === "bare-both" ? "bare-both" : "bare-dynamodb";
    const ms = medianOf(name, "first");
    const processor = medianOf(name, "processor");
    const target = others.includes(name) ? "" : needsFiles(name) ? 0.8 : 0.75;
    return {
      bundle: name,
      KB: Math.round((sizes.get(name) ?? 0) / 1024),
      ms: round(ms, 1),
      "beside the bare client": round(ms / medianOf(bare, "first")),
      target,
      "ms with AWS": round(medianOf(name, "whole"), 1),
      "processor ms": round(processor, 1),
      "beside plain-show": name === shown ? round(processor / medianOf("plain-show", "processor")) : "",
      "its target": name === shown ? 0.88 : "",
    };
  });
  for (const each of [table, files, service]) await each.close();
  return {
    title: `Cold start: import and first response, medians of ${repetitions}`,
    notes: [
      "The first response needs no AWS and creates no client on either side: it refuses a request without a key, or the empty",
      'state of a step. "ms with AWS" adds, over TLS, one read (and one PUT) of the bare clients, and all calls of ours; the processor',
      "time is that of all of it. plain-show does what switches/show does, with the SDK's document client and nothing else.",
    ],
    rows,
  };
};
