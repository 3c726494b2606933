import { checkoutLimits } from "../../shared/checkout/limits.ts";
import { endpointCosts } from "./expected.ts";

/** Public on-demand prices in us-east-1, in dollars: https://aws.amazon.com/<service>/pricing. */
export const prices = {
  readUnit: 0.125 / 1e6,
  writeUnit: 0.625 / 1e6,
  s3Put: 5 / 1e6,
  s3Get: 0.4 / 1e6,
  lambdaRequest: 0.2 / 1e6,
  /** arm64, 1,024 MB. */
  lambdaSecond: 0.0000133334,
  gatewayRequest: 3.5 / 1e6,
  stateTransition: 25 / 1e6,
  /** Custom events, up to 64 KB each. */
  busEvent: 1 / 1e6,
  logGigabyte: 0.5,
  trace: 5 / 1e6,
  metric: 0.3,
  alarm: 0.1,
  webAcl: 5,
  webAclRule: 1,
  webAclRequest: 0.6 / 1e6,
  key: 1,
  secret: 0.4,
  s3Gigabyte: 0.023,
  /** Storage and point-in-time recovery. */
  tableGigabyte: 0.25 + 0.2,
} as const;

/** The billed time of one invocation: a millisecond of our code, and 5 ms for each sequential AWS call. */
export const secondsOf = (rounds: number) => (1 + 5 * rounds) / 1000;

/** A checkout of one request with ten files, as `month.test.ts` measures it. */
export const checkoutCost = { states: 14, steps: 7, readUnits: 52, writeUnits: 84, events: 11 };

/** The month that docs/cost.md shows. */
export const month = { uploads: 1e6, reads: 10e6, checkouts: 1e5, files: 10 };

/** The function's line 0.7 KB, `START` and `REPORT` 0.6, the access log 0.45. */
const logKilobytes = { request: 1.75, step: 1.3, event: 0.2 };

const logs = (kilobytes: number) => (kilobytes / 1e6) * prices.logGigabyte;

/** A bus's price, and the share of the function that publishes ten events at once. */
const event =
  prices.busEvent + (prices.lambdaRequest + secondsOf(2) * prices.lambdaSecond) / 10 + logs(logKilobytes.event);

/** The dollars of one request to an endpoint, without those of S3. */
export const ofEndpoint = (name: string) => {
  const [, , , rounds, readUnits, writeUnits] = endpointCosts.find(([each]) => each === name) ?? ["", 0, 0, 0, 0, 0];
  return {
    gateway: prices.gatewayRequest,
    functions: prices.lambdaRequest + secondsOf(rounds) * prices.lambdaSecond,
    table: readUnits * prices.readUnit + writeUnits * prices.writeUnit,
    logs: logs(logKilobytes.request),
  };
};

const sum = (parts: Readonly<Record<string, number>>) => Object.values(parts).reduce((all, part) => all + part, 0);

/** What a sandbox costs when it is idle, without alarms. */
export const idleSandbox = prices.key + prices.secret;

/** What production costs when it is idle, with its web ACL of one rule. */
export const idle = (alarms: number) => idleSandbox + prices.webAcl + prices.webAclRule + alarms * prices.alarm;

type Line = { readonly what: string; readonly dollars: number; readonly of: string };

const list = (parts: Readonly<Record<string, number>>, times: number) =>
  Object.entries(parts)
    .map(([name, dollars]) => `${name} ${(dollars * times).toFixed(1)}`)
    .join(", ");

/** X-Ray's default rule: one request a second, and 5 % of the others. */
const traces = (requests: number) => {
  const reservoir = Math.min(requests, 30.4 * 24 * 3600);
  return reservoir + 0.05 * (requests - reservoir);
};

/** The lines of the month's bill. `metrics` and `alarms` are those of the production stack. */
export const monthlyLines = ({ metrics, alarms }: { readonly metrics: number; readonly alarms: number }): Line[] => {
  const { uploads, reads, checkouts, files } = month;
  const upload = { ...ofEndpoint("request-attachments/create"), files: prices.s3Put, event };
  const read = ofEndpoint("request-attachments/show");
  const { states, steps, readUnits, writeUnits, events } = checkoutCost;
  // The carrier takes half a second for each call.
  const carrier = 0.5 * (Math.ceil(files / checkoutLimits.concurrency) + 1);
  const checkout = {
    "state transitions": states * prices.stateTransition,
    functions: steps * (prices.lambdaRequest + secondsOf(10) * prices.lambdaSecond) + carrier * prices.lambdaSecond,
    table: readUnits * prices.readUnit + writeUnits * prices.writeUnit,
    files: files * prices.s3Get,
    events: events * event,
    logs: logs(steps * logKilobytes.step),
  };
  // 100 KB a file, 3 KB of items for an attachment with its events.
  const storage = { files: uploads * 1e-4 * prices.s3Gigabyte, table: uploads * 3e-6 * prices.tableGigabyte };
  const watching = {
    metrics: metrics * prices.metric,
    alarms: alarms * prices.alarm,
    traces: traces(uploads + reads) * prices.trace,
    "web ACL": prices.webAcl + prices.webAclRule + (uploads + reads) * prices.webAclRequest,
    "key and secret": idleSandbox,
  };
  return [
    { what: `${uploads / 1e6} million uploads`, dollars: uploads * sum(upload), of: list(upload, uploads) },
    { what: `${reads / 1e6} million reads`, dollars: reads * sum(read), of: list(read, reads) },
    {
      what: `${checkouts.toLocaleString("en")} checkouts of ${files} files`,
      dollars: checkouts * sum(checkout),
      of: list(checkout, checkouts),
    },
    { what: "storage of the month's uploads", dollars: sum(storage), of: list(storage, 1) },
    { what: "metrics, alarms, X-Ray, web ACL, key, secret", dollars: sum(watching), of: list(watching, 1) },
  ];
};
