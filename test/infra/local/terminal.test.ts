import { afterEach, describe, expect, it, vi } from "vitest";
import type { Served } from "../../../infra/local/gateway.ts";
import { terminal } from "../../../infra/local/terminal.ts";

/** `test/readme.test.ts` and `events.test.ts` verify that `npm start` prints these lines. */

afterEach(() => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
});

/** The lines that a terminal prints. */
const printed = (use: (lines: ReturnType<typeof terminal>) => void, { quiet = false } = {}) => {
  const output = { stdout: "", stderr: "" };
  const into = (name: keyof typeof output) => (line: string) => {
    output[name] += `${line}\n`;
  };
  vi.spyOn(console, "log").mockImplementation(into("stdout"));
  vi.spyOn(console, "error").mockImplementation(into("stderr"));
  use(terminal({ quiet, verbose: false, nameOf: (key) => (key === "apik_1" ? "acme" : undefined) }));
  return output;
};

const responseOf = (status: number, errors: readonly object[] = []) => ({
  status,
  headers: {},
  body: JSON.stringify({ errors }),
});

const served = (more: Partial<Served>): Served => ({
  method: "GET",
  path: "/api/v1/switches",
  ms: 3.2,
  apiKey: "apik_1",
  requestId: "r-1",
  response: responseOf(200),
  ...more,
});

const root = new URL("../../..", import.meta.url).href;
const stack = `ServiceUnavailable: no S3\n    at ${root}shared/deadline.ts:7:1\n    at put (${root}shared/attachments/files.ts:40:3)`;
const error = { name: "ServiceUnavailable", message: "no S3", stack };
const failed = served({ method: "POST", response: responseOf(503, [{ code: "service_unavailable" }]) });

const call = { method: "PUT", path: "/carts/O/requests/R", status: 201, idempotency_key: "k-1" };
const event = {
  type: "account.created",
  id: "E",
  resource: { type: "account", id: "A", version: null },
  actor: { type: "operator", id: "local" },
  account: "A",
  parent: null,
  request_id: null,
  at: "2026-01-01T00:00:00.000Z",
  changed: null,
} as const;
const step = { step: "checkout/submit", ms: 12, order_id: "O", next: "again" };

describe("the terminal of npm start", () => {
  it("has no control characters of a path, and a dash without a key", () => {
    const hostile = { path: "/\u009b", apiKey: undefined, response: responseOf(404, [{ code: "not_found" }]) };
    expect(printed((lines) => lines.request(served(hostile))).stdout).toBe("GET      404     3 ms  /?  -  not_found\n");
  });

  it("has for a 5xx the error, its place in this project and the request, and with --quiet nothing else", () => {
    const output = printed(
      (lines) => {
        lines.request(served({}));
        lines.request(served({ method: "POST", response: responseOf(422, [{ code: "invalid_parameter" }]) }));
        lines.log(step);
        lines.carrierCall(call);
        lines.event(event);
        lines.log({ request_id: "r-1", error });
        lines.request(failed);
      },
      { quiet: true },
    );
    expect(output).toEqual({
      stdout: "POST     503     3 ms  /api/v1/switches  acme  service_unavailable\n",
      stderr: `\
         ServiceUnavailable: no S3
         at shared/attachments/files.ts:40:3
         request r-1
`,
    });
  });

  it("has for a page that S3 has refused the option that lets it send files", () => {
    expect(printed((lines) => lines.refusedOrigin("http://localhost:5173")).stderr).toBe(
      "S3 has refused a page of http://localhost:5173. To let its pages send files: ./patchbay start --upload-origin http://localhost:5173\n",
    );
  });

  it("has colours only on a terminal", () => {
    const printOne = () => printed((lines) => lines.request(served({}))).stdout;
    vi.stubEnv("FORCE_COLOR", "1");
    expect(printOne()).toContain("\u001b[32m200");
    vi.stubEnv("FORCE_COLOR", undefined);
    expect(printOne()).not.toContain("\u001b");
  });
});
