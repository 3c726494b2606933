import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { env } from "../../shared/env.ts";
import { fail, portOf } from "./command.ts";

/** `./patchbay start`, and `npm start`: runs the whole service on this machine. Loads it only if the options are valid. */

const help = `Usage: ./patchbay start [options]

Runs Patchbay on this machine: gateway, functions, an embedded DynamoDB and S3, and a simulated carrier.

  --port <port>  the API's port (default: the environment's PORT, or 3000; 0 for any free port). The carrier, events, Lambda,
                 Step Functions, DynamoDB and S3 have the next six ports that browsers use, or free ones in place of those in use
  --data <dir>   store the data in this folder (default: none, they are lost when the service stops)
  --events-to <url>
                 post each event to this URL, as an API destination of EventBridge does
  --throttle <n> respond with 429 to more than n requests per second, like a stage on AWS (default: no limit)
  --carrier-url <url>
                 checkouts call this carrier (default: the environment's CARRIER_URL, or a simulated one). CARRIER_TOKEN is its token
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

/** Validates the URL of an option, and removes its trailing slash. */
const urlOf = (name: string, value: string | undefined): string | undefined => {
  if (value && !(/^https?:\/\//.test(value) && URL.canParse(value)))
    throw new Error(`${name} must be an http: or https: URL, not ${value}.`);
  return value?.replace(/\/$/, "") || undefined;
};

const carrierUrlOf = (name: string, value: string | undefined): string | undefined => {
  if (value && /[?#]/.test(value))
    throw new Error(`${name} must have no query and no fragment, because paths are appended to it.`);
  return urlOf(name, value);
};

const uploadOriginOf = (value: string): string => {
  const origin = URL.canParse(value) ? new URL(value).origin : "null";
  if (origin === value) return value;
  throw new Error(`--upload-origin must be an origin such as http://localhost:5173, not ${value}.`);
};

/** The handler of an adapter function: docs/carrier.md describes it. */
const handlerIn = async (file: string | undefined) => {
  if (file === undefined) return undefined;
  const { handler } = await import(pathToFileURL(resolve(file)).href).catch((cause: unknown) => {
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

const run = async () => {
  const { values } = parseArgs({ args: process.argv.slice(3), options: known });
  if (values.help) return console.log(help);
  requireVariables();
  const options = {
    quiet: values.quiet,
    verbose: values.verbose,
    data: values.data,
    port: portOf(values.port ?? process.env.PORT ?? "3000"),
    throttle: throttleOf(values.throttle),
    maxWait: maxWaitOf(values["max-wait"]),
    postTo: urlOf("--events-to", values["events-to"]),
    carrierUrl:
      carrierUrlOf("--carrier-url", values["carrier-url"]) ?? carrierUrlOf("CARRIER_URL", process.env.CARRIER_URL),
    uploadOrigins: (values["upload-origin"] ?? []).map(uploadOriginOf),
    malwareScan: values["malware-scan"],
    carrierFunction: await handlerIn(values["carrier-function"]),
  };
  const { start } = await import("./start.ts");
  await start(options);
};

const isParseError = (error: unknown): error is Error =>
  error instanceof Error && "code" in error && String(error.code).startsWith("ERR_PARSE_ARGS_");

run().catch((error: unknown) => fail(isParseError(error) ? `${error.message}\n\n${help}` : error));
