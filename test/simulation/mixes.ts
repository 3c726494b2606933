import type { Rates } from "./world.ts";

/** Faults that happen together. In each schedule of a mix, the seed determines which of its kinds happen, and how often. */

/** The highest probability of each kind of fault, for a call, an invocation or a schedule. */
type Kinds = Readonly<Record<string, number>>;

const kinds = (service: string, names: readonly string[], most: number): Kinds =>
  Object.fromEntries(names.map((name) => [`${service} ${name}`, most]));

const attempts = ["throttled", "failed before", "failed after", "lost before", "lost after", "delayed", "late"];
const table = {
  ...kinds("table", attempts, 0.05),
  ...kinds("table", ["conflict", "in progress", "left unprocessed", "torn"], 0.1),
};
const files = kinds("files", attempts, 0.1);

const silent = [
  "broken after",
  "broken, acts late",
  "no response",
  "no response, acts late",
  "no response, never acts",
  "unavailable after",
  "unavailable, acts late",
];
const refused = ["a proxy's refusal", "refusal", "redirect"];
/** What somebody else says in the carrier's place. */
const foreign = ["a page", "a page after", "a 202", "a foreign 2xx", "a foreign 404", "a foreign 409"];
/** What only a carrier that compares its cart with the manifest survives. */
const unseen = ["acts hours later", "a foreign 2xx", "a foreign 404"];
const unavailable = ["no connection", "broken before", "unavailable", "429"];
const carrier = (method: string, most: number): Kinds => ({
  ...kinds(`carrier ${method}`, [...silent, "delayed"], most),
  ...kinds(`carrier ${method}`, unavailable, most / 2),
  ...kinds(`carrier ${method}`, [...refused, ...foreign], most / 4),
  ...kinds(`carrier ${method}`, ["acts hours later", "answers twice"], most / 8),
});
const calls = { ...carrier("PUT", 0.3), ...carrier("DELETE", 0.3) };
const cart = {
  ...carrier("POST", 0.6),
  ...carrier("GET", 0.3),
  "carrier GET unusable answer": 0.3,
  "carrier GET lie": 0.5,
};

const copies = {
  ...kinds("invocation", ["lost", "twice", "again, late"], 0.3),
  "process frozen": 0.05,
  "process slow": 0.3,
};
const crashes = {
  "process killed": 0.05,
  ...kinds("invocation", ["throttled", "unavailable"], 0.2),
  ...kinds("request", ["throttled", "unavailable", "lost"], 0.1),
  ...kinds("EventBridge", ["lost", "twice", "late"], 0.5),
  "Step Functions lags": 0.5,
};

const reactions = kinds("customer", ["removes", "changes"], 0.1);

/** Decisions that are made once for a schedule. */
const decisions = {
  "carrier cannot say": 0.5,
  "carrier guards keys": 0.3,
  "carrier refuses a letter": 0.1,
  "carrier drops what it refuses": 0.5,
  "carrier adapted": 0.2,
  "carrier in phases": 0.2,
  "carrier says when": 0.5,
  "carrier can always say": 0.5,
  "carrier compares": 0.6,
  "carrier says little": 0.3,
  "carrier places late": 0.1,
  "carrier moves": 0.05,
  "carrier moves back": 0.2,
  "carrier keeps its name": 0.3,
  "carrier maintenance": 0.9,
  "a release sends more": 0.1,
  "carrier under maintenance": 0.05,
  "carrier loses its cart": 0.05,
  "table goes back": 0.05,
  "customer keeps changing": 0.05,
  "files scanned": 0.2,
  "files swept": 0.2,
  "order large": 0.2,
  "process skewed": 0.5,
  "operator starts twice": 0.2,
  "operator aborts": 0.2,
  "operator redrives": 0.3,
  "operator settles": 0.2,
  "operator resends": 0.2,
  "operator types late": 0.5,
  "operator misled": 0.2,
  "operator absent": 0.3,
};

const everything = { ...table, ...files, ...calls, ...cart, ...copies, ...crashes, ...reactions };

type Mix = {
  readonly kinds: Kinds;
  /** The probability that a kind takes part in a schedule. */
  readonly share: number;
  /** The lowest probability of a kind that takes part, as a fraction of its highest. */
  readonly least: number;
};

const silentCalls = { ...kinds("carrier PUT", silent, 0.7), ...kinds("carrier DELETE", silent, 0.5) };
const oldPuts = kinds("carrier PUT", [...silent, "delayed", "refusal"], 0.5);
const oldCopies = { "invocation twice": 0.7, "invocation lost": 0.4, "process slow": 0.7, "carrier PUT delayed": 0.5 };
const copiesInDoubt = {
  ...kinds("carrier POST", ["broken, acts late", "no response, acts late", "unavailable, acts late"], 0.5),
  ...kinds("carrier POST", ["delayed", "a proxy's refusal", "refusal"], 0.6),
  ...kinds("carrier GET", ["a proxy's refusal", "delayed", "lie"], 0.6),
  "invocation twice": 1,
  "process slow": 0.8,
  "process killed": 0.05,
  "operator aborts": 0.5,
};
const aborted = {
  ...kinds("invocation", ["unavailable", "twice", "again, late"], 0.3),
  "carrier POST a proxy's refusal": 0.8,
  "EventBridge twice": 0.3,
  "process frozen": 0.2,
  "process slow": 0.6,
  "operator aborts": 1,
};
const lateThenUnavailable = {
  ...kinds("carrier PUT", ["no response, acts late", "broken, acts late", "unavailable, acts late"], 0.3),
  ...kinds("carrier PUT", ["no response, never acts", "unavailable"], 0.9),
  ...kinds("customer", ["removes", "changes"], 0.5),
  "carrier in phases": 0.8,
  "carrier says when": 0.1,
};
const proxies = {
  ...kinds("carrier DELETE", ["a proxy's refusal", "refusal", "redirect"], 0.7),
  ...kinds("carrier PUT", [...silent, ...refused], 0.3),
  ...kinds("customer", ["removes", "changes"], 0.5),
};
const gateways = {
  "carrier PUT unavailable, acts late": 1,
  ...kinds("carrier PUT", ["429", "refusal", "a proxy's refusal"], 0.5),
  ...kinds("customer", ["removes", "changes"], 0.3),
  "process slow": 0.5,
  "process frozen": 0.1,
  "carrier in phases": 0.4,
  "carrier says when": 0.1,
};
/** Faults of those who observe a run from outside: operators, EventBridge and Step Functions. */
const onlookers = {
  ...kinds("carrier POST", [...silent, "delayed", "a proxy's refusal"], 0.6),
  "carrier GET lie": 0.5,
  "invocation unavailable": 0.3,
  "invocation twice": 0.5,
  "process slow": 0.3,
  "process killed": 0.1,
  ...kinds("EventBridge", ["lost", "twice", "late"], 0.7),
  "Step Functions lags": 0.7,
  "operator aborts": 0.7,
  "operator absent": 0.6,
  "operator settles": 0.9,
  "operator misled": 0.5,
  "operator types late": 0.9,
};
const lostRequests = {
  ...kinds("table", attempts, 0.1),
  "request lost": 0.7,
  "process slow": 0.5,
  "process killed": 0.05,
};

/** Writes that commit without a response, or after their caller has given them up, among copies of steps that write the same items. */
const lostWrites = {
  ...kinds("table", ["failed after", "lost after", "delayed", "late", "conflict"], 0.25),
  ...kinds("invocation", ["twice", "lost"], 0.4),
  ...kinds("carrier PUT", ["delayed", "no response, acts late", "unavailable", "refusal"], 0.3),
  ...kinds("carrier POST", ["delayed", "unavailable, acts late", "a proxy's refusal", "refusal"], 0.4),
  ...kinds("carrier GET", ["a proxy's refusal", "lie"], 0.4),
  ...reactions,
  "process frozen": 0.03,
  "process slow": 0.5,
  "process killed": 0.03,
  "operator aborts": 0.3,
};

/** What disturbs a run although no call fails. */
const disturbances = [
  "carrier cannot say",
  "carrier moves",
  "carrier under maintenance",
  "carrier loses its cart",
  "table goes back",
  "customer keeps changing",
  "operator starts twice",
  "operator aborts",
  "operator redrives",
  "operator settles",
  "operator resends",
];

/** The mixes by name. In `calm`, no fault happens, and every run succeeds unless the carrier refuses a letter. In `seldom`, every fault happens rarely; in the others, some faults happen often. */
export const mixes: Readonly<Record<string, Mix>> = {
  calm: {
    kinds: { ...Object.fromEntries(disturbances.map((decision) => [decision, 0])), "carrier refuses a letter": 0.5 },
    share: 0,
    least: 1,
  },
  all: { kinds: everything, share: 0.15, least: 0.1 },
  seldom: { kinds: everything, share: 1, least: 0.02 },
  doubt: {
    kinds: { ...cart, "invocation twice": 0.5, "invocation lost": 0.2, "process frozen": 0.03 },
    share: 0.3,
    least: 0.5,
  },
  "copies in doubt": { kinds: copiesInDoubt, share: 0.4, least: 0.5 },
  copies: { kinds: { ...copies, ...oldPuts, "carrier POST a proxy's refusal": 0.5 }, share: 0.5, least: 0.2 },
  "old copies": { kinds: { ...oldCopies, ...reactions }, share: 0.8, least: 0.3 },
  "late calls": {
    kinds: { ...silentCalls, ...reactions, "process killed": 0.05, "invocation lost": 0.2 },
    share: 0.3,
    least: 0.7,
  },
  "late, then unavailable": { kinds: lateThenUnavailable, share: 0.6, least: 0.5 },
  crashes: {
    kinds: { ...crashes, ...copies, ...cart, "operator aborts": 0.7 },
    share: 0.4,
    least: 0.2,
  },
  proxies: { kinds: proxies, share: 0.5, least: 0.3 },
  gateways: { kinds: gateways, share: 0.8, least: 0.4 },
  onlookers: { kinds: onlookers, share: 0.5, least: 0.3 },
  aborted: { kinds: aborted, share: 0.7, least: 0.5 },
  requests: {
    kinds: { ...lostRequests, ...kinds("request", ["throttled", "unavailable"], 0.2) },
    share: 0.5,
    least: 0.3,
  },
  table: { kinds: { ...table, "invocation twice": 0.2, "request lost": 0.2 }, share: 0.5, least: 0.2 },
  "lost writes": { kinds: lostWrites, share: 0.5, least: 0.2 },
  "foreign words": {
    kinds: {
      ...kinds("carrier PUT", foreign, 0.3),
      ...kinds("carrier DELETE", foreign, 0.3),
      ...kinds("carrier POST", foreign, 0.5),
      ...reactions,
      "carrier under maintenance": 0.3,
    },
    share: 0.4,
    least: 0.3,
  },
  "lost carts": {
    kinds: {
      "carrier loses its cart": 0.9,
      "carrier compares": 1,
      "operator resends": 0.9,
      ...kinds("carrier PUT", silent, 0.3),
      ...kinds("carrier POST", ["refusal", "a proxy's refusal"], 0.6),
      ...reactions,
    },
    share: 0.5,
    least: 0.3,
  },
  "hours late": {
    kinds: {
      ...kinds("carrier PUT", unseen, 0.4),
      ...kinds("carrier DELETE", unseen, 0.4),
      ...kinds("customer", ["removes", "changes"], 0.5),
      ...kinds("carrier POST", ["refusal", "a proxy's refusal"], 0.8),
      "carrier compares": 1,
    },
    share: 0.7,
    least: 0.4,
  },
  "goes back": {
    kinds: {
      "table goes back": 0.9,
      "carrier compares": 1,
      ...kinds("carrier PUT", silent, 0.2),
      ...kinds("carrier POST", ["refusal", "a proxy's refusal", "unavailable"], 0.9),
      ...kinds("customer", ["removes", "changes"], 0.3),
    },
    share: 0.5,
    least: 0.4,
  },
  "drops what it refuses": {
    kinds: {
      "carrier refuses a letter": 1,
      "carrier drops what it refuses": 1,
      "carrier compares": 0,
      ...kinds("carrier POST", ["broken after", "no response", "unavailable after", "unavailable", "delayed"], 0.5),
      "invocation twice": 0.5,
      "process slow": 0.5,
    },
    share: 0.5,
    least: 0.4,
  },
  "another release": {
    kinds: {
      "a release sends more": 1,
      ...kinds("carrier PUT", ["unavailable, acts late", "broken, acts late"], 0.5),
      ...kinds("carrier POST", ["unavailable", "429", "a proxy's refusal"], 0.6),
      ...reactions,
      "process killed": 0.03,
    },
    share: 0.5,
    least: 0.3,
  },
  "another carrier": {
    kinds: {
      "carrier moves": 1,
      ...kinds("carrier POST", silent, 0.3),
      ...kinds("carrier PUT", [...silent, "delayed"], 0.3),
      ...reactions,
      "process killed": 0.03,
    },
    share: 0.4,
    least: 0.3,
  },
  "places late": {
    kinds: { "carrier places late": 1, ...cart, "process killed": 0.05, "invocation twice": 0.3 },
    share: 0.3,
    least: 0.3,
  },
  redriven: {
    kinds: { ...aborted, "operator redrives": 0.9, "EventBridge late": 0.7, "Step Functions lags": 0.5 },
    share: 0.6,
    least: 0.5,
  },
  "second responses": {
    kinds: {
      ...kinds("carrier PUT", ["answers twice"], 0.7),
      ...kinds("carrier DELETE", ["answers twice"], 0.7),
      ...kinds("carrier GET", ["answers twice"], 0.5),
      ...kinds("carrier POST", ["no response", "answers twice"], 0.4),
      ...reactions,
    },
    share: 0.8,
    least: 0.4,
  },
  changing: {
    kinds: { "customer keeps changing": 1, "carrier PUT delayed": 1, "customer removes": 0.02 },
    share: 1,
    least: 0.3,
  },
  files: {
    kinds: { ...kinds("files", attempts, 0.4), "process killed": 0.03, "files swept": 0.7 },
    share: 0.5,
    least: 0.2,
  },
};

/** The probabilities of the faults in a schedule of a mix. */
export const ratesOf = (name: string, chance: (words: string) => number): Rates => {
  const { kinds, share, least } = mixes[name] ?? { kinds: {}, share: 0, least: 0 };
  const rateOf = ([kind, most]: [string, number]) => {
    if (kind in decisions) return [[kind, most]];
    return chance(`${kind} takes part`) < share ? [[kind, most * least ** chance(`${kind} rate`)]] : [];
  };
  return Object.fromEntries(Object.entries({ ...decisions, ...kinds }).flatMap(rateOf));
};
