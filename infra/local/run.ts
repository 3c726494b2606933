import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { fail, requireSeparator } from "./command.ts";

/** `npm start`: runs the whole service on this machine. Loads it only if the options are valid. */

const help = `Usage: npm start -- [options]

Runs Patchbay on this machine: gateway, functions, an embedded DynamoDB and S3, and a stand-in carrier.

  --port <port>  the API's port (default: the environment's PORT, or 3000; 0 for any free port)
  --data <dir>   store the data in this folder (default: none, they are lost when the service stops)
  --events-to <url>
                 post each event to this URL, as an API destination of EventBridge does
  --throttle <n> respond with 429 to more than n requests per second, like a stage on AWS (default: no limit)
  --carrier-function <file> checkouts call the handler that this module exports, instead of the stand-in carrier
  --quiet        of the requests, print server errors (5xx) only
  --verbose      also print request ids, all errors of a request, and full stack traces
  --help         print this help

Environment: AWS_ENDPOINT_URL_DYNAMODB and AWS_ENDPOINT_URL_S3 replace the embedded DynamoDB and S3.`;

export type Options = ReturnType<typeof readOptions>;

const readOptions = () => {
  requireSeparator("start", ["port", "data", "events-to", "throttle", "carrier-function"]);
  const { values } = parseArgs({
    options: {
      port: { type: "string" },
      data: { type: "string" },
      "events-to": { type: "string" },
      throttle: { type: "string" },
      "carrier-function": { type: "string" },
      quiet: { type: "boolean", default: false },
      verbose: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  const port = values.port ?? process.env.PORT ?? "3000";
  if (!/^\d{1,5}$/.test(port) || Number(port) > 65_535)
    throw new Error(`The port must be a number from 0 to 65535, not ${port}.`);
  if (values.throttle !== undefined && !/^[1-9]\d{0,5}$/.test(values.throttle))
    throw new Error(`--throttle must be a whole number of requests per second, not ${values.throttle}.`);
  const eventsTo = values["events-to"];
  if ((eventsTo !== undefined && !/^https?:\/\//.test(eventsTo)) || !URL.canParse(eventsTo ?? "http://local"))
    throw new Error(`--events-to must be an http: or https: URL, not ${eventsTo}.`);
  const rate = values.throttle === undefined ? undefined : Number(values.throttle);
  // As in the settings of the stages on AWS.
  return { ...values, port: Number(port), throttle: rate === undefined ? undefined : { rate, burst: 2 * rate } };
};

/** The handler of an adapter function: shared/checkout/README.md describes it. */
const loadHandler = async (file: string) => {
  const { handler } = await import(pathToFileURL(resolve(file)).href).catch((cause: unknown) => {
    throw new Error(`--carrier-function: ${file} cannot be loaded: ${cause}`, { cause });
  });
  if (typeof handler !== "function") throw new Error(`--carrier-function: ${file} exports no function \`handler\`.`);
  return handler;
};

const run = async () => {
  const { help: asksForHelp, "carrier-function": file, ...options } = readOptions();
  if (asksForHelp) return console.log(help);
  const carrierFunction = file === undefined ? undefined : await loadHandler(file);
  const { start } = await import("./start.ts");
  await start({ ...options, carrierFunction });
};

const isParseError = (error: unknown): error is Error =>
  error instanceof Error && "code" in error && String(error.code).startsWith("ERR_PARSE_ARGS_");

run().catch((error: unknown) => fail(isParseError(error) ? `${error.message}\n\n${help}` : error));
