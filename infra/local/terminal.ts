import { inspect, styleText } from "node:util";
import * as z from "zod/mini";
import type { Event } from "../../shared/history/event.ts";
import type { ReceivedCall } from "./carrier-carts.ts";
import type { Served } from "./gateway.ts";
import { parseJson } from "./json-file.ts";

type AdapterReport = { readonly event: unknown; readonly answer?: unknown; readonly error?: unknown };

/** The output of `npm start`. It has a line for each request, each call to the carrier and each step of a checkout. */

type Options = {
  readonly quiet: boolean;
  readonly verbose: boolean;
  readonly nameOf: (apiKey: string | undefined) => string | undefined;
};

const LoggedError = z.object({ name: z.string(), message: z.string(), stack: z.optional(z.string()) });
const LogLine = z.object({
  request_id: z.optional(z.string()),
  step: z.optional(z.string()),
  ms: z.optional(z.number()),
  order_id: z.optional(z.string()),
  next: z.optional(z.string()),
  outcome: z.optional(z.string()),
  error: z.optional(LoggedError),
});

const AdapterCall = z.object({ method: z.string(), path: z.string() });
const Source = z.object({ in: z.string(), pointer: z.string() });
const ErrorBody = z.object({ errors: z.array(z.object({ code: z.string(), source: z.optional(Source) })) });

const root = new URL("../..", import.meta.url).href;

/** Every call to AWS goes through this file, so its frames do not show where an error comes from. */
const wrapper = "shared/deadline.ts";

/** The first frame of a stack that is in this project, such as `shared/table/write.ts:40:3`. */
const firstOwnFrame = (stack = ""): string | undefined => {
  const all = stack.match(/file:\/\/[^\s():]+:\d+:\d+/g) ?? [];
  const frames = all.filter((frame) => frame.startsWith(root)).map((frame) => frame.slice(root.length));
  return frames.find((frame) => !frame.startsWith("node_modules/") && !frame.startsWith(`${wrapper}:`));
};

const errorLines = (error: unknown, verbose: boolean): string[] => {
  const logged = z.safeParse(LoggedError, error).data;
  if (!logged) return error === undefined ? [] : [String(error)];
  const { name, message, stack } = logged;
  if (verbose && stack) return stack.split("\n");
  const frame = firstOwnFrame(stack);
  return [`${name}: ${message}`, ...(frame ? [`at ${frame}`] : [])];
};

/** The codes and pointers of the errors in an error response. With `verbose`, it has all of them, and otherwise the first. */
const summarizeErrors = (body: string | Buffer, verbose: boolean): string => {
  const { errors } = parseJson(ErrorBody, body.toString()) ?? { errors: [] };
  const all = errors.map(({ code, source }) => (source ? `${code} ${source.in}:${source.pointer || "/"}` : code));
  const more = all.length - 1;
  return verbose || more <= 0 ? all.join(", ") : `${all[0]} and ${more} more`;
};

/** Replaces control characters, because text from outside must not control the terminal. */
const printable = (text: string) => text.replaceAll(/\p{Cc}/gu, "?");

type Style = Parameters<typeof styleText>[0];

const statusStyle = (status: number): Style => (status >= 500 ? "red" : status >= 400 ? "yellow" : "green");

const duration = (ms: number) => `${ms.toFixed(0).padStart(5)} ms`;

export const terminal = ({ quiet, verbose, nameOf }: Options) => {
  /** The errors that functions have logged, by request id, until the line of the request is printed. */
  const errors = new Map<string, unknown>();
  // `styleText` uses colours only if the stream is a terminal and NO_COLOR is not set.
  const paint = (style: Style, text: string, stream: NodeJS.WritableStream = process.stdout) =>
    styleText(style, printable(text), { stream });

  const print = (style: Style, line: string, { isError = false } = {}) => {
    if (!quiet || isError) console.log(paint(style, line));
  };
  const printError = (lines: readonly string[]) => {
    for (const line of lines) console.error(paint("red", `         ${line}`, process.stderr));
  };
  const warning = (text: string): void => console.error(paint("yellow", text, process.stderr));

  return {
    request: ({ method, path, ms, apiKey, requestId, response, error = errors.get(requestId) }: Served): void => {
      errors.delete(requestId);
      const { status, body } = response ?? { status: 0, body: "" };
      const name = nameOf(apiKey) ?? "-";
      const summary = status >= 400 ? `  ${summarizeErrors(body, verbose)}` : response ? "" : "  client disconnected";
      const id = verbose ? `  ${requestId}` : "";
      const rest = printable(`${duration(ms)}  ${path}  ${name}${summary}${id}`);
      if (!quiet || status >= 500)
        console.log(
          `${printable(method.padEnd(8))} ${paint(statusStyle(status), response ? String(status) : "---")} ${rest}`,
        );
      if (status >= 500) printError([...errorLines(error, verbose), `request ${requestId}`]);
    },
    carrierCall: ({ method, path, status, idempotency_key }: ReceivedCall): void => {
      const idempotencyKey = verbose && idempotency_key ? `  ${idempotency_key}` : "";
      print("cyan", `carrier  ${status ?? "---"}           ${method} ${path}${idempotencyKey}`);
    },
    /** Prints all details of an adapter's error, because the adapter has no log of its own. */
    adapterCall: ({ event, answer, error }: AdapterReport): void => {
      const { method, path } = z.safeParse(AdapterCall, event).data ?? { method: "", path: "" };
      const status = z.safeParse(z.object({ status: z.number() }), answer).data?.status;
      print("cyan", `adapter  ${status ?? "---"}           ${method} ${path}`, { isError: status === undefined });
      if (status === undefined) printError(error ? inspect(error).split("\n") : ["The adapter returned no status."]);
    },
    event: ({ type, id, at, resource, actor }: Event): void =>
      print("blue", `event    ${at}  ${type}  ${resource.id}  by ${actor.type} ${actor.id}  ${id}`),
    warning,
    refusedOrigin: (origin: string): void =>
      warning(
        `S3 has refused a page of ${origin}. To let its pages send files: ./patchbay start --upload-origin ${origin}`,
      ),
    log: (fields: unknown): void => {
      const { request_id: requestId, step, ms = 0, error, ...line } = z.safeParse(LogLine, fields).data ?? {};
      if (requestId !== undefined && error) errors.set(requestId, error);
      if (step === undefined) return;
      const outcome = error ? "failed" : (line.next ?? line.outcome ?? "done");
      print("magenta", `step         ${duration(ms)}  ${step}  ${line.order_id ?? ""}  ${outcome}`, {
        isError: Boolean(error),
      });
      if (error) printError(errorLines(error, verbose));
    },
  };
};
