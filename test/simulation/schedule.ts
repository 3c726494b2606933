import { loadSteps } from "../../infra/local/handlers.ts";
import type { Reply } from "../../infra/local/listen.ts";
import { signedPut } from "../../shared/attachments/files.ts";
import { steps } from "../../shared/checkout/steps.ts";
import { setLogOutput } from "../../shared/log.ts";
import { dynamodb } from "../../shared/table/client.ts";
import { forwardedTypes } from "../../shared/tenants/tenant-schema.ts";
import { apply } from "../support/fixtures/apply.ts";
import { allPermissions } from "../support/fixtures/tenants.ts";
import { beginCarrier, type Character, loseCarts, unusable } from "./carrier.ts";
import { beginFiles, type Objects, storedObjects } from "./files.ts";
import { closeFunctions } from "./functions.ts";
import { beginLedger, ledger, rename } from "./ledger.ts";
import { ratesOf } from "./mixes.ts";
import {
  beginPeople,
  confirmedVersions,
  keepChanging,
  operate,
  type Place,
  react,
  recover,
  refusedLetter,
  resendAtAnyTime,
  startPeople,
  sweepDaily,
  tellOfEnd,
  uploadLetters,
} from "./people.ts";
import {
  judgeAnswer,
  judgeCall,
  judgeCommit,
  judgeEnd,
  judgeRemoval,
  judgeSwept,
  noteRefusal,
  noteStep,
} from "./promises.ts";
import { restoreTable } from "./restore.ts";
import { allItems, beginTable, removeExpired } from "./table.ts";
import { beginWorkflow } from "./workflow.ts";
import {
  beginWorld,
  between,
  breakPromise,
  chance,
  endFaultsAt,
  endWorld,
  newTask,
  pick,
  runWorld,
  start,
} from "./world.ts";

/** One schedule: an order, the activities of people, and faults. */

export type Schedule = {
  readonly mix: string;
  readonly seed: number;
  readonly without?: ReadonlySet<string>;
  readonly onLine?: (line: string) => void;
};

export type Outcome = ReturnType<typeof endWorld>;

// A log line that counts as a defect would roll back a deployment.
setLogOutput((line) => {
  if (line.Defects !== undefined) breakPromise("no defect", JSON.stringify(line.error ?? line));
});

const handlers = new Map(
  Array.from(await loadSteps(steps), ([name, handler]) => [
    name,
    (state: unknown) => {
      noteStep(name);
      return handler(state);
    },
  ]),
);

// The first such calls load files, which takes time.
await signedPut(
  "simulated",
  { filename: "loa.pdf", content_type: "application/pdf", bytes: 1, sha256: "" },
  new Date(),
);
await dynamodb().config.credentials();

type Prepared = { readonly place: Place; readonly items: ReturnType<typeof allItems>; readonly objects: Objects };

const prepared = new Map<number, Prepared>();

/** Returns an order with so many requests, created only once. */
const prepare = async (requests: number): Promise<Prepared> => {
  const known = prepared.get(requests);
  if (known) return known;
  beginWorld({ seed: `order of ${requests}` });
  beginTable([]);
  beginFiles(new Map(), { scan: false, onRemoved: () => {} });
  let place: Place | undefined;
  start(newTask("preparation"), 0, async () => {
    const types = Array.from({ length: requests }, (_, index) => [
      `request${index}`,
      { order: "order", type: index === 2 ? "PORT_IN" : forwardedTypes[0] },
    ]);
    const created = await apply({
      accounts: { acme: { name: "Acme", features: { ordering_attachment_access: true } } },
      users: { ops: { account: "acme", permissions: allPermissions } },
      keys: { ops: { account: "acme", user: "ops" } },
      orders: { order: { account: "acme" } },
      requests: Object.fromEntries(types),
    });
    place = {
      key: created.keys.ops?.key ?? "",
      order: created.orders.order?.id ?? "",
      requests: Object.values(created.requests).map(({ id }) => id),
    };
    beginPeople(place);
    await uploadLetters();
  });
  await runWorld();
  if (!place) throw new Error("The order was not created.");
  const result = { place, items: allItems(), objects: new Map(storedObjects()) };
  prepared.set(requests, result);
  return result;
};

const refusedQuestion = (status: number): Reply => ({ status, body: { error: "not found" } });
const cannotSay = [refusedQuestion(404), ...[405, 501, 403, 400, 401, 410].map(refusedQuestion), ...unusable] as const;

/** What a carrier may respond to the checkout of a cart. */
const placed: Reply = { status: 200, body: { checked_out: true } };
const accepted = [
  { status: 200, body: {} },
  { status: 201, body: { order: 7 } },
  { status: 204, body: null },
] as const satisfies readonly Reply[];
const unplaced = [...accepted, { status: 200, body: { checked_out: false } }] as const;

/** Pages that respond in everybody's place. */
const maintenanceOf = (isSo: (decision: string) => boolean): Character["maintenance"] => {
  if (!isSo("carrier under maintenance")) return undefined;
  const from = between("maintenance from", 50, 300_000);
  const status = pick("maintenance", [200, 202, 404, 409, 403, 503]);
  return { from, to: from + between("maintenance takes", 1_000, 1_200_000), reply: { status, body: "<html>" } };
};

/** The time during which faults happen. Most runs end within it. */
const faultsMs = 3_600_000;

/** Runs a schedule, and judges it. */
export const runSchedule = async ({ mix, seed, without, onLine }: Schedule): Promise<Outcome> => {
  const named = `${mix} ${seed}`;
  // Stacks take time, and only a trace shows them.
  Error.stackTraceLimit = onLine ? 12 : 0;
  beginWorld({ seed: named });
  const rates = ratesOf(mix, chance);
  const requests = pick("requests", [1, 2, 2, 2, 3, 3, chance("large") < (rates["order large"] ?? 0) ? 10 : 2]);
  const { place, items, objects } = await prepare(requests);
  const line = onLine && ((text: string) => onLine(rename(text)));
  beginWorld({ seed: named, rates, ...(without && { without }), ...(line && { onLine: line }) });
  const isSo = (decision: string) => chance(decision) < (rates[decision] ?? 0);
  const status = pick("refuses with", [400, 401, 402, 403, 404, 405, 410, 418, 422, 451]);
  const reason = "The letter is not signed.";
  const words = pick<object>("refuses in words", [{}, { reason }, { reason, attachments: [] }, { attachments: [] }]);
  const reply = { status: "attachments" in words ? 422 : status, body: words };
  const missing = pick<Reply["body"]>("gone in words", [{ error: "not found" }, null]);
  // One that places orders late must be able to say whether it has, and nobody else may say it in its place.
  const placesLate =
    isSo("carrier places late") &&
    isSo("carrier can always say") &&
    !isSo("carrier cannot say") &&
    !isSo("carrier under maintenance");
  const movesAt = isSo("carrier moves") ? between("moves at", 1_000, 600_000) : undefined;
  const character: Character = {
    cannotSay: isSo("carrier cannot say") ? pick("says", cannotSay) : undefined,
    canAlwaysSay: isSo("carrier can always say"),
    compares: isSo("carrier compares") ? pick("compares", ["and lists", "and lists", "only"]) : undefined,
    confirms: placesLate
      ? pick<Reply>("confirms late", unplaced)
      : isSo("carrier says little")
        ? pick<Reply>("confirms", accepted)
        : placed,
    placesLate,
    movesAt,
    isSame: isSo("carrier keeps its name"),
    movesBackAt:
      movesAt !== undefined && isSo("carrier moves back")
        ? movesAt + between("moves back", 600_000, 2_400_000)
        : undefined,
    // A carrier that does not compare its cart would keep what was deleted meanwhile.
    hasCleared: !isSo("carrier compares") || chance("has cleared its cart") < 0.5,
    releasedAt: isSo("a release sends more") ? between("released at", 1, 60_000) : undefined,
    drops: isSo("carrier drops what it refuses"),
    maintenance: maintenanceOf(isSo),
    gone: { status: pick("gone", [200, 404, 410]), body: missing },
    guardsKeys: isSo("carrier guards keys"),
    refusal: isSo("carrier refuses a letter") ? { sha256: refusedLetter, reply } : undefined,
    isAdapted: isSo("carrier adapted"),
    phaseMs: isSo("carrier in phases") ? between("phase", 2_000, 120_000) : undefined,
    saysWhen: isSo("carrier says when"),
  };
  const scan = isSo("files scanned");
  process.env.MALWARE_SCAN = scan ? "true" : "";
  beginTable(items, judgeCommit);
  beginFiles(objects, { scan, onRemoved: judgeRemoval });
  beginLedger(place.order, place.requests);
  ledger.isUndisturbed = mix === "calm" && !character.refusal;
  beginCarrier(character, {
    onCalled: react,
    onAnswered: judgeAnswer,
    onActed: judgeCall,
    onRefused: noteRefusal,
    nameOf: (path) => rename(path).replaceAll(/\/carts\/order|\/requests|\/attachments/g, ""),
  });
  closeFunctions(false);
  beginWorkflow(handlers, tellOfEnd);
  beginPeople(place, isSo("operator absent"));
  const longest = between("time", 500, 300_000);
  startPeople(Math.ceil(between("people", 2, 12)), longest);
  if (isSo("customer keeps changing")) keepChanging(longest);
  loseCarts(longest * 4);
  if (character.compares) restoreTable();
  resendAtAnyTime();
  start(newTask("operator"), between("operator at", 1, longest), operate);
  const sweeps = isSo("files swept");
  if (sweeps) sweepDaily(4);
  endFaultsAt(faultsMs);
  start(newTask("recovery"), faultsMs + between("recovery", 1, 1_200_000), recover);
  await runWorld();
  await judge(sweeps);
  return endWorld();
};

/** Judges the end, when no events remain. */
const judge = async (isSwept: boolean): Promise<void> => {
  start(newTask("the end"), 0, () => judgeEnd(confirmedVersions()));
  await runWorld();
  if (!isSwept) return;
  // TTL removes the records whose files the sweeps have removed.
  start(newTask("the sweep"), 40 * 86_400_000, async () => removeExpired(Date.now() / 1000));
  await runWorld();
  start(newTask("after the sweep"), 0, judgeSwept);
  await runWorld();
};
