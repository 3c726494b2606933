import { isDeepStrictEqual } from "node:util";
import type { Command } from "commander";
import { allFiles } from "../../../shared/attachments/files.ts";
import { sweptDays } from "../../../shared/attachments/sweep.ts";
import { keys } from "../../../shared/table/keys.ts";
import { getMany, scan } from "../../../shared/table/read.ts";
import { directTo } from "../../local/environment.ts";
import { type Format, printRows } from "../cli/output.ts";
import { formatCount, withProgress } from "../cli/progress.ts";
import { attachmentChecks, type Sweeps, storedFileChecks, wrongAttachmentCount } from "./attachment-invariants.ts";
import { type Check, checkOf, type Finding, keyText, type StoredItem, type Sums, violation } from "./check-finding.ts";
import { readableChecks } from "./readable-items.ts";
import { switchChecks } from "./switch-invariants.ts";

/** Checks that the items agree with each other and with the files. Compares each with the few related ones, and keeps none in memory. */

type Progress = { items: number; files: number };

/** `suspects` are the partitions and days whose links did not add up in an earlier read. */
type Read = Sweeps & { readonly progress: Progress; readonly suspects: ReadonlySet<string> };

/** Yields the checks of a segment of the table. */
async function* itemChecks({ progress, suspects }: Read, sums: Sums, Segment: number): AsyncGenerator<Check> {
  for await (const stored of scan({ Segment, TotalSegments: segments })) {
    const item = { ...stored, pk: String(stored.pk), sk: String(stored.sk) };
    progress.items += 1;
    yield* readableChecks(item);
    yield* attachmentChecks(item, suspects, sums);
    yield* checkoutChecks(item);
    yield* accountChecks(item);
    yield* keyChecks(item);
    yield* switchChecks(item, sums);
    yield* ancestorChecks(item);
  }
}

/** Yields the checks of all files, then those of the counts that do not add up. */
async function* otherChecks({ progress, suspects, ...sweeps }: Read, sums: Sums): AsyncGenerator<Check> {
  for await (const file of allFiles()) {
    progress.files += 1;
    yield* storedFileChecks(file, suspects, sums, sweeps);
  }
  for (const [pk, difference] of sums.counts) yield () => wrongCount(pk, difference);
}

/** Orders, requests and switches name their account and those above it. Access checks compare them with the API key's account. */
function* ancestorChecks(item: StoredItem): Generator<Check> {
  const { account, ancestors } = item;
  if (typeof account !== "string" || ancestors === undefined) return;
  yield checkOf("ancestors are those of the account", keyText(item), keys.account(account), (owner) => {
    return isDeepStrictEqual(ancestors, owner?.ancestors) || `those of ${account} differ`;
  });
}

function* checkoutChecks(item: StoredItem): Generator<Check> {
  const [, order] = /^(?:ORDER#(?=\w+ CHECKOUT$)|OPEN_CHECKOUTS ORDER#)(\w+)/.exec(keyText(item)) ?? [];
  if (order === undefined) return;
  yield async () => {
    const [run, entry, stored] = await getMany([keys.checkout(order), keys.openCheckout(order), keys.order(order)]);
    const isOpen = run !== undefined && run.status !== "SUCCEEDED" && stored?.state !== "CHECKED_OUT";
    if (isOpen === (entry !== undefined)) return [];
    const detail = isOpen
      ? "`order list --failed` does not find it"
      : "`order list --failed` lists it, although its checkout is not open";
    return [violation("an open checkout has its entry", keyText(keys.checkout(order)), detail)];
  };
}

function* accountChecks(item: StoredItem): Generator<Check> {
  if (item.sk !== "ACCOUNT" || item.erasing === undefined) return;
  const detail = "it has begun and not ended: repeat `account erase`, or take it back with --cancel";
  yield async () => [{ level: "notice", rule: "an erasure is complete", at: keyText(item), detail }];
}

function* keyChecks(item: StoredItem): Generator<Check> {
  const { sk, account, user } = item;
  if (sk !== "KEY" || typeof user !== "string") return;
  yield async () => {
    const [owner, found] = await getMany([keys.account(String(account)), keys.user(user)]);
    if ([account].concat(owner?.ancestors).includes(found?.account)) return [];
    const detail = `its user ${user} ${found ? `is of the account ${found.account}` : "does not exist"}`;
    return [violation("an API key's user is of its account or of one above", keyText(item), detail)];
  };
}

const wrongCount = async (pk: string, difference: number): Promise<Finding[]> => {
  if (!pk.startsWith("ACCOUNT#")) return wrongAttachmentCount(pk, difference);
  return [violation("switch_count is exact", pk, `it differs by ${difference} from the switches that are stored`)];
};

const batchSize = 100;

/** How many parts of the table are read at once. A partition is in one of them. */
const segments = 8;

async function* runChecks(checks: AsyncIterable<Check>): AsyncGenerator<Finding> {
  let batch: Check[] = [];
  for await (const check of checks) {
    batch.push(check);
    if (batch.length < batchSize) continue;
    yield* await judge(batch);
    batch = [];
  }
  yield* await judge(batch);
}

const judge = async (batch: readonly Check[]): Promise<Finding[]> =>
  (await Promise.all(batch.map((check) => check()))).flat();

/** A read stops after this many findings. The first ones show what is wrong. */
const maxFindings = 1_000;

const nameOf = ({ rule, at }: Finding) => `${rule} ${at}`;

/** Reads everything once. Returns the findings by rule and place, and the partitions and days to check closely. */
const readAll = async (read: Read) => {
  const found = new Map<string, Finding>();
  const sums: Sums = { counts: new Map(), links: new Map() };
  const add = async (checks: AsyncIterable<Check>) => {
    for await (const finding of runChecks(checks)) {
      found.set(nameOf(finding), finding);
      if (found.size >= maxFindings) return;
    }
  };
  // Items are read before files, because a file is stored before its metadata.
  await Promise.all(Array.from({ length: segments }, (_, segment) => add(itemChecks(read, sums, segment))));
  if (found.size < maxFindings) await add(otherChecks(read, sums));
  if (found.size >= maxFindings) return { found, suspects: read.suspects };
  return { found, suspects: new Set(sums.links.keys().take(maxFindings)) };
};

/**
 * Returns at most `maxFindings` findings. Requests may write meanwhile, so a single read can see half of a change. If the first
 * read finds anything, two closer reads follow, and only findings of both are returned.
 */
export const checkInvariants = async (now: Date, progress: Progress = { items: 0, files: 0 }): Promise<Finding[]> => {
  const read = { now, swept: await sweptDays(), progress };
  const first = await readAll({ ...read, suspects: new Set() });
  if (first.found.size === 0 && first.suspects.size === 0) return [];
  const { found } = await readAll({ ...read, suspects: first.suspects });
  const latest = found.size > 0 ? (await readAll({ ...read, suspects: first.suspects })).found : found;
  return [...found]
    .slice(0, maxFindings)
    .filter(([name]) => latest.has(name))
    .map(([, finding]) => finding)
    .sort((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1));
};

/** Reads the whole table and bucket, and returns the inconsistencies. The exit code is 1 if there are violations. */
const findProblems = async (): Promise<Finding[]> => {
  const progress = { items: 0, files: 0 };
  const findings = await withProgress(
    () => checkInvariants(new Date(), progress),
    () => `Checking … ${formatCount(progress.items)} items and ${formatCount(progress.files)} files read`,
  );
  if (findings.length === maxFindings) console.error(`There may be more than these ${formatCount(maxFindings)}.`);
  if (findings.some(({ level }) => level === "violation")) process.exitCode = 1;
  return findings;
};

const printProblems = (findings: readonly Finding[], { json }: Format): void =>
  findings.length > 0 || json ? printRows(findings, { json }, { whole: true }) : console.log("No problems found.");

export const addCheckCommand = (program: Command): void => {
  program
    .command("check")
    .description("check that items and files are consistent; reads the whole table and bucket, and changes nothing")
    .option("--table <name>", "check this table, such as a restored one, with the files of the target")
    .action(async ({ table, ...format }: Format & { table?: string }) => {
      if (table !== undefined) directTo({ TABLE_NAME: table });
      printProblems(await findProblems(), format);
    });
};
