import { checkoutLimits } from "../../shared/checkout/limits.ts";
import { endpointCosts } from "./expected.ts";
import { checkoutCost, month, secondsOf } from "./month.ts";

/** How much each quota of AWS takes, for the table in docs/limits.md. */

export const scaleHead =
  "quota, a second | default | 1 | 10 | 50 | 500 checkouts | 100 | 1,000 | 10,000 requests | beyond it, raise".split(
    " | ",
  );

const rates = { checkouts: [1, 10, 50, 500], requests: [100, 1_000, 10_000] };

/** Of all requests; the others show an attachment. */
const uploads = 0.1;

/** The carrier's seconds for one call. */
const carrier = 0.5;
const forwarding = carrier * Math.ceil(month.files / checkoutLimits.concurrency);

/** The mean of uploads and shows, of one column of their costs. */
const ofRequest = (column: 3 | 4 | 5): number => {
  const [upload = 0, show = 0] = ["request-attachments/create", "request-attachments/show"].map((name) =>
    Number(endpointCosts.find(([each]) => each === name)?.[column]),
  );
  return uploads * upload + (1 - uploads) * show;
};

type Quota = {
  readonly what: string;
  /** By default in us-east-1, a second. */
  readonly most: number;
  /** How much of it one checkout and one request take. */
  readonly each: readonly [checkout: number, request: number];
  readonly raise: string;
};

const { states, steps, readUnits, writeUnits, events } = checkoutCost;
const warm = "`--warm-throughput`, below; above 40,000 the quota of a table";

const quotas: readonly Quota[] = [
  { what: "API Gateway: requests", most: 10_000, each: [0, 1], raise: "the quota, and `throttleRate`" },
  {
    what: "Lambda: invocations",
    most: 10_000,
    each: [steps, 1],
    raise: "the quota of concurrent executions: ten times it",
  },
  {
    what: "Lambda: concurrent executions",
    most: 1_000,
    each: [steps * secondsOf(10) + forwarding + carrier, secondsOf(ofRequest(3))],
    raise: "the quota; a new account has 10",
  },
  {
    what: "`checkout/forward`, with a `carrierConcurrency` of 100: concurrent executions",
    most: 100,
    each: [forwarding, 0],
    raise: "the setting",
  },
  { what: "new table: write units", most: 4_000, each: [writeUnits, ofRequest(5)], raise: warm },
  { what: "new table: read units", most: 12_000, each: [readUnits, ofRequest(4)], raise: "the same" },
  // Each upload's event has the id of its request, by which operators find it. A checkout's events have none.
  { what: "new index `lookup`: write units", most: 4_000, each: [0, uploads], raise: "the same" },
  {
    // The entry is put and deleted, both in a transaction.
    what: "the partition of open checkouts: write units",
    most: 1_000,
    each: [4, 0],
    raise: "nothing: the next design has several such partitions",
  },
  { what: "Step Functions: starts", most: 300, each: [1, 0], raise: "the quota; starts above it are refused" },
  { what: "Step Functions: state transitions", most: 5_000, each: [states, 0], raise: "the quota; checkouts wait" },
  { what: "EventBridge: PutEvents", most: 10_000, each: [events, uploads], raise: "the quota; events wait" },
  {
    what: "S3: PUT of a day's files",
    most: 3_500,
    each: [0, uploads],
    raise: "nothing: S3 adapts, and returns 503 meanwhile",
  },
  { what: "S3: GET of a day's files", most: 5_500, each: [month.files, 0], raise: "the same" },
  { what: "KMS, without the bucket key", most: 100_000, each: [month.files, uploads], raise: "the quota" },
];

const round = (value: number) => Number(value.toPrecision(2)).toLocaleString("en");

const cell = (load: number, most: number): string => (load > most ? `**${round(load)}**` : load > 0 ? round(load) : "");

/** The rows of the table. What exceeds a quota is bold. */
export const scaleRows = (): string[][] =>
  quotas.map(({ what, most, each: [checkout, request], raise }) => {
    const loads = [...rates.checkouts.map((rate) => rate * checkout), ...rates.requests.map((rate) => rate * request)];
    return [what, most.toLocaleString("en"), ...loads.map((load) => cell(load, most)), raise];
  });
