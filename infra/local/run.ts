import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { env, parseCarrierName } from "../../shared/env.ts";
import { fail, fromCaller, portOf } from "./command.ts";
import type { Receiver } from "./local-bus.ts";
import type { OpenConsole } from "./start.ts";

/** `./patchbay start`, and `npm start`. Runs the whole service on this machine. Loads it only if the options are valid. */

const help = `Usage: ./patchbay start [options]

Runs Patchbay on this machine: gateway, functions, an embedded DynamoDB and S3, and a simulated carrier.

  --port <port>  the API's port (default: the environment's PORT, or 3000; 0 for any free port). The carrier, events, Lambda,
                 Step Functions, DynamoDB, S3 and the console have the next seven ports that browsers use, or free ones in place
                 of those in use
  --data <dir>   store the data in this folder (default: none, they are lost when the service stops)
  --events-to <url>
                 post each event to this URL, as an API destination of EventBridge does; a user name and a password in it
                 are sent as Basic authorization
  --throttle <n> respond with 429 to more than n requests per second, like a stage on AWS (default: no limit)
  --carrier-url <url>
                 checkouts call this carrier (default: the environment's CARRIER_URL, or a simulated one). CARRIER_TOKEN is its token
  --carrier-name <name>
                 the carrier's name, which stays the same while its address changes (default: the environment's CARRIER_NAME, or
                 carrier)
  --carrier-function <file>
                 checkouts call the handler that this module exports, and print its errors
  --upload-origin <origin>
                 web pages of this origin, such as http://localhost:5173, may send files to S3; can be repeated
  --malware-scan tag each file a second after its upload, and forward only clean ones: infected are those that contain
                 the EICAR test file
  --max-wait <seconds>
                 the longest wait of a checkout for an unavailable carrier (default: 2; on AWS: 900). With 2, a run fails
                 after 40 seconds of what takes 38 minutes on AWS
  --quiet        print only those requests that end in a server error (5xx)
  --verbose      also print request ids, all errors of a request, and full stack traces
  --help         print this help

Environment: AWS_ENDPOINT_URL_DYNAMODB and AWS_ENDPOINT_URL_S3 replace the embedded DynamoDB and S3.`;

const known = {
  port: { type: "string" },
  data: { type: "string" },
  "events-to": { type: "string" },
  throttle: { type: "string" },
  "carrier-url": { type: "string" },
  "carrier-name": { type: "string" },
  "carrier-function": { type: "string" },
  "upload-origin": { type: "string", multiple: true },
  "malware-scan": { type: "boolean", default: false },
  "max-wait": { type: "string" },
  quiet: { type: "boolean", default: false },
  verbose: { type: "boolean", default: false },
  help: { type: "boolean", default: false },
} as const;

/** The burst is twice the rate, as in the settings of the stages on AWS. */
const throttleOf = (value: string | undefined) => {
  if (value === undefined) return undefined;
  if (/^[1-9]\d{0,5}$/.test(value)) return { rate: Number(value), burst: 2 * Number(value) };
  throw new Error(`--throttle must be a whole number of requests per second, not ${value}.`);
};

const maxWaitOf = (value: string | undefined): string | undefined => {
  if (value === undefined || (/^[1-9]\d{0,2}$/.test(value) && Number(value) <= 900)) return value;
  throw new Error(`--max-wait must be a whole number of seconds from 1 to 900, not ${value}.`);
};

/** Validates the URL of an option. The error leaves out a password in it. */
const urlOf = (name: string, sent: string | undefined): URL | undefined => {
  const value = sent?.trim();
  if (!value) return undefined;
  if (/^https?:\/\/[^\s\\]+$/.test(value) && URL.canParse(value)) return new URL(value);
  const shown = value.includes("@") ? `…${value.slice(value.lastIndexOf("@"))}` : value;
  throw new Error(`${name} must be an http: or https: URL, not ${shown}.`);
};

const carrierUrlOf = (name: string, value: string | undefined): string | undefined => {
  const url = urlOf(name, value);
  if (url && (url.username || url.password))
    throw new Error(`${name} must have no user name and no password: CARRIER_TOKEN is the carrier's token.`);
  if (value && /[?#]/.test(value))
    throw new Error(`${name} must have no query and no fragment, because paths are appended to it.`);
  return value?.trim().replace(/\/$/, "") || undefined;
};

/** The user name and the password in the URL are sent as Basic authorization, because `fetch` refuses such a URL. */
const receiverOf = (value: string | undefined): Receiver | undefined => {
  const url = urlOf("--events-to", value);
  if (!url) return undefined;
  const { username, password } = url;
  Object.assign(url, { username: "", password: "" });
  if (!username && !password) return { url: url.href };
  if (/%(?![\da-f]{2})/i.test(username + password))
    throw new Error("--events-to has a percent sign in its user name or password: write it as %25.");
  const decoded = [username, password].map(decodeURIComponent).join(":");
  return { url: url.href, authorization: `Basic ${Buffer.from(decoded).toString("base64")}` };
};

const uploadOriginOf = (value: string): string => {
  const origin = URL.canParse(value) ? new URL(value).origin : "null";
  if (origin === value) return value;
  throw new Error(`--upload-origin must be an origin such as http://localhost:5173, not ${value}.`);
};

/** The handler of an adapter function, which docs/carrier.md describes. */
const handlerIn = async (file: string | undefined) => {
  if (file === undefined) return undefined;
  const { handler } = await import(pathToFileURL(fromCaller(file)).href).catch((cause: unknown) => {
    throw new Error(`--carrier-function: ${file} cannot be loaded: ${cause}`, { cause });
  });
  if (typeof handler !== "function") throw new Error(`--carrier-function: ${file} exports no function \`handler\`.`);
  return handler;
};

/** Throws if a variable is invalid. Otherwise, every request or every checkout would fail. */
const requireVariables = () => {
  const { logLevel, maxFileBytes, maxUploadBytes, carrierTimeoutMs, carrierMaxWaitSeconds } = env;
  for (const read of [logLevel, maxFileBytes, maxUploadBytes, carrierTimeoutMs, carrierMaxWaitSeconds]) read();
};

/** The service goes on if the reader of its output ends, such as `npm start | grep -m1 ready`. */
const outliveReaders = () => {
  for (const stream of [process.stdout, process.stderr])
    stream.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code !== "EPIPE") throw error;
    });
};

const run = async (openConsole: OpenConsole) => {
  outliveReaders();
  const { values } = parseArgs({ args: process.argv.slice(3), options: known });
  if (values.help) return console.log(help);
  requireVariables();
  const options = {
    quiet: values.quiet,
    verbose: values.verbose,
    data: values.data === undefined ? undefined : fromCaller(values.data),
    port: portOf(values.port ?? process.env.PORT ?? "3000"),
    throttle: throttleOf(values.throttle),
    maxWait: maxWaitOf(values["max-wait"]),
    postTo: receiverOf(values["events-to"]),
    carrierUrl:
      carrierUrlOf("--carrier-url", values["carrier-url"]) ?? carrierUrlOf("CARRIER_URL", process.env.CARRIER_URL),
    carrierName: parseCarrierName("--carrier-name", values["carrier-name"] ?? (process.env.CARRIER_NAME || "carrier")),
    uploadOrigins: (values["upload-origin"] ?? []).map(uploadOriginOf),
    malwareScan: values["malware-scan"],
    carrierFunction: await handlerIn(values["carrier-function"]),
    openConsole,
  };
  const { start } = await import("./start.ts");
  await start(options);
};

const isParseError = (error: unknown): error is Error =>
  error instanceof Error && "code" in error && String(error.code).startsWith("ERR_PARSE_ARGS_");

export const runStart = (openConsole: OpenConsole): Promise<void> =>
  run(openConsole).catch((error: unknown) => fail(isParseError(error) ? `${error.message}\n\n${help}` : error));
