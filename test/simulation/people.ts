import {
  DescribeExecutionCommand,
  ExecutionAlreadyExists,
  ExecutionDoesNotExist,
  StartExecutionCommand,
} from "@aws-sdk/client-sfn";
import { handler as releaseLock } from "../../functions/checkout/release-lock.ts";
import { handler as sweep } from "../../functions/sweep-orphan-files.ts";
import { handler as applyOrders } from "../../functions/tenants/apply-orders.ts";
import { resend } from "../../infra/admin/orders/resend.ts";
import { settle } from "../../infra/admin/orders/settle.ts";
import { startCheckout } from "../../infra/admin/orders/start-checkout.ts";
import type { CartCall } from "../../infra/local/carrier-carts.ts";
import { loadEndpoints } from "../../infra/local/handlers.ts";
import { errorNamed } from "../../infra/local/state-machine.ts";
import { routes } from "../../shared/routes.ts";
import { newId } from "../../shared/schema/fields.ts";
import { keys } from "../../shared/table/keys.ts";
import { forwardedTypes } from "../../shared/tenants/tenant-schema.ts";
import { sha256Of } from "../support/fixtures/upload-content.ts";
import { eventOf } from "../support/requests/event.ts";
import { allCarts, isCheckedOut as isCartCheckedOut } from "./carrier.ts";
import { putSigned } from "./files.ts";
import { invoke } from "./functions.ts";
import { forwardable, nameOf, receiptsBelow } from "./ledger.ts";
import { judgeList, judgeUpload } from "./promises.ts";
import { itemAt, itemsBelow } from "./table.ts";
import { asOf, type Execution, executionOf, startExecution } from "./workflow.ts";
import {
  areFaultsOver,
  between,
  breakPromise,
  chance,
  currentTask,
  elapsed,
  faultOf,
  newTask,
  numbered,
  pass,
  pick,
  say,
  start,
  takesPart,
} from "./world.ts";

/** Customers, an ordering system and operators, who make the same calls as on AWS. */

/** The order that a schedule is about. */
export type Place = { readonly key: string; readonly order: string; readonly requests: readonly string[] };

type Parent = { readonly type: "order" | "request"; readonly id: string };
type Known = { readonly parent: Parent; readonly id: string };

const attachmentRoutes = routes.filter(({ name }) => name.includes("-attachments/"));
const handlers = await loadEndpoints(attachmentRoutes);

let place: Place = { key: "", order: "", requests: [] };
let isOperatorAbsent = false;
type Added = { readonly id: string; readonly type: string };
/** The requests that the ordering system has added. */
let added: Added[] = [];
/** The versions of attachments that a response has confirmed. */
let confirmed = new Map<string, number>();

/** Remembers what was confirmed. Returns a function that goes back to it. */
export const confirmedNow = (): (() => void) => {
  const then = new Map(confirmed);
  return () => {
    confirmed = then;
  };
};

export const confirmedVersions = (): ReadonlyMap<string, number> => confirmed;

export const beginPeople = (of: Place, withoutOperator = false): void => {
  place = of;
  isOperatorAbsent = withoutOperator;
  added = [];
  confirmed = new Map();
  commands = 0;
};

type Body = { readonly json?: object; readonly form?: Buffer; readonly id?: string; readonly key?: string | undefined };
type Answer = {
  readonly status: number;
  readonly body: { readonly data: Readonly<Record<string, unknown>> };
  readonly version: number;
};

const boundary = "a boundary of the simulation";
const formOf = (fields: Readonly<Record<string, string>>, file: string) =>
  Buffer.from(
    Object.entries(fields)
      .map(([name, value]) => `--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`)
      .join("") +
      `--${boundary}\r\nContent-Disposition: form-data; name="data[file]"; filename="loa.pdf"\r\nContent-Type: application/pdf\r\n\r\n${file}\r\n--${boundary}--\r\n`,
  );

const documented = new Set([200, 201, 404, 412, 422, 429, 503]);

/** Calls the API once. The status is 0 if there was no response. */
const call = async (operation: string, parent: Parent, { json, form, id, key }: Body): Promise<Answer> => {
  const name = `${parent.type}-attachments/${operation}`;
  const route = attachmentRoutes.find((one) => one.name === name);
  const handler = handlers.get(name);
  if (!route || !handler) throw new Error(`There is no endpoint ${name}.`);
  const item = id === undefined ? {} : { [operation === "complete-upload" ? "upload_id" : "attachment_id"]: id };
  const event = eventOf(route, {
    ids: { [`${parent.type}_id`]: parent.id, ...item },
    headers: {
      Authorization: `Bearer ${place.key}`,
      "Content-Type": form ? `multipart/form-data; boundary="${boundary}"` : "application/json",
      ...(key !== undefined && { "Idempotency-Key": key }),
    },
    ...(form ? { body: form } : json && { body: JSON.stringify(json) }),
  });
  const result = await invoke("request", `${operation} of ${nameOf(parent.id)}`, Object(handler), event, 29).catch(
    () => undefined,
  );
  const { statusCode: status = 0, body = "{}", headers = {} } = Object(result);
  if (status !== 0 && !documented.has(status)) breakPromise("no defect", `${name} returned ${status} ${body}`);
  return { status, body: JSON.parse(body), version: Number(/"(\d+)"/.exec(headers.ETag ?? "")?.[1] ?? 1) };
};

/** Repeats a call that got no response, 429 or 503. */
const insist = async (send: () => Promise<Answer>): Promise<Answer> => {
  const most = pick(numbered("insists"), [1, 2, 3]);
  for (let attempt = 1; ; attempt += 1) {
    const answer = await send();
    if (![0, 429, 503].includes(answer.status) || attempt === most) return answer;
    await pass(between(numbered("repeats"), 20, 20_000));
  }
};

const parents = (): [Parent, ...Parent[]] => [
  { type: "order", id: place.order },
  ...itemsBelow(keys.order(place.order).pk, "REQUEST#").map(({ id }) => ({ type: "request", id: String(id) }) as const),
];

const attachments = (): Known[] =>
  parents().flatMap((parent) =>
    itemsBelow(keys.parent(parent).pk, "ATTACHMENT#").map(({ id }) => ({ parent, id: String(id) })),
  );

const confirm = ({ status, body, version }: Answer) => {
  if (status !== 200 && status !== 201) return;
  const id = String(body.data.id);
  confirmed.set(id, Math.max(version, confirmed.get(id) ?? 0));
};

const documentTypeOf = ({ type }: Parent) => `${type}_attachment`;

/** Uploads a letter named after its uploader, so the name is the same in every run of the schedule. */
const upload = async (named: string) => {
  const parent = pick(`${named} parent`, parents());
  const file = `%PDF-1.7 ${named}`;
  const key = chance(`${named} key`) < 0.5 ? `key of ${named}`.replaceAll(" ", "-") : undefined;
  if (chance(`${named} direct`) < 0.25) return uploadDirectly(named, parent, file, key);
  const reference = chance(`${named} reference`) < 0.3 && references[Math.floor(chance(`${named} which`) * 2)];
  const fields = {
    "data[name]": named,
    "data[file_hint]": "LOA",
    ...(reference && { "data[reference_id]": reference }),
  };
  const form = formOf(fields, file);
  const statuses: number[] = [];
  confirm(
    await insist(async () => {
      const answer = await call("create", parent, { form, key });
      statuses.push(answer.status);
      return answer;
    }),
  );
  judgeUpload(named, statuses, key !== undefined);
};

/** Only two, so that uploads find them in use, or free again. */
const references = ["7c9e6679-7425-40de-944b-e07fc1f90ae7", "0f8fad5b-d9cb-469f-a165-70867728950e"];

const uploadDirectly = async (name: string, parent: Parent, file: string, key: string | undefined) => {
  const declared = {
    filename: "scan.pdf",
    content_type: "application/pdf",
    bytes: file.length,
    sha256: sha256Of(file),
  };
  const created = await insist(() => call("create-upload", parent, { json: { type: "upload", data: declared }, key }));
  if (created.status !== 201) return;
  const { id, url } = created.body.data;
  await pass(between(`${name} sends`, 10, 10_000));
  putSigned(String(url), Buffer.from(file), "application/pdf");
  const json = { type: documentTypeOf(parent), data: { name } };
  const complete = { json, id: String(id), key: key && `${key}-completed` };
  confirm(await insist(() => call("complete-upload", parent, complete)));
};

const one = (named: string) => {
  const all = attachments();
  return all[Math.floor(chance(`${named} which`) * all.length)];
};

const change = async (named: string, known = one(named)) => {
  if (!known) return;
  const json = { type: documentTypeOf(known.parent), data: { name: `${named} of ${nameOf(known.id)}` } };
  confirm(await insist(() => call("update", known.parent, { json, id: known.id })));
};

const remove = async (named: string, known = one(named)) => {
  if (known) await insist(() => call("delete", known.parent, { id: known.id }));
};

/** A customer who goes on changing one letter of the first request, several times a second or every few seconds. */
export const keepChanging = (longest: number): void => {
  const name = "customer keeps changing";
  const pause = between(`${name} pause`, 250, 10_000);
  const from = between(`${name} from`, 5, longest);
  const times = Math.min(150, 900_000 / pause);
  if (!takesPart(`${name} every ${Math.round(pause)} ms`)) return;
  start(newTask(name), from, async () => {
    const known = attachments().find(({ parent }) => parent.type === "request");
    for (let count = 1; count <= times && known && !areFaultsOver(); count += 1) {
      await Promise.all([change(`${name} ${count}`, known), pass(pause)]);
      if (itemAt(keys.attachment(known.parent, known.id)) === undefined) return;
    }
  });
};

/** Sometimes makes a customer remove or change an attachment during its forwarding, or soon after. */
export const react = ({ method, path }: CartCall, named: string): void => {
  const fault = method === "PUT" ? faultOf("customer", named, ["removes", "changes"]) : undefined;
  if (!fault) return;
  const name = `customer ${fault} what has ${named}`;
  start(newTask(name), between(name, 1_000, 60_000), () => {
    const known = attachments().find(({ id }) => path.endsWith(`/${id}`));
    return (fault === "removes" ? remove : change)(name, known);
  });
};

/** Lists attachments. The list has all that were stored before. */
const list = async (named: string) => {
  const parent = pick(`${named} parent`, parents());
  const { pk } = keys.parent(parent);
  const before = itemsBelow(pk, "ATTACHMENT#");
  const { status, body } = await call("list", parent, {});
  if (status !== 200) return;
  const { items = [] } = Object(body.data);
  const listed = new Set<string>(Array.from(Object(items), (item) => Object(item).data.id));
  judgeList(parent.id, before, listed);
};

const applyRequest = ({ id, type }: Added) => {
  const file = { requests: { late: { id, order: place.order, type } } };
  return invoke("request", "adds a request", Object(applyOrders), file, 60).catch(() => undefined);
};

const addRequest = async (named: string) => {
  const request = { id: newId(), type: chance(`${named} type`) < 0.8 ? forwardedTypes[0] : "PORT_IN" };
  added.push(request);
  await applyRequest(request);
};

/** After a restore, the ordering system adds the requests again that the table does not know. */
export const addRequestsAgain = async (): Promise<void> => {
  for (const request of added)
    for (let attempt = 1; attempt <= 5 && !itemAt(keys.request(request.id)); attempt += 1) {
      await pass(between(numbered("adds again"), 20, 20_000));
      await applyRequest(request);
    }
};

const letterOf = ({ type }: Parent) => `letter of the ${type}`;

/** The hash of the letter that carriers may refuse. */
export const refusedLetter = sha256Of("%PDF-1.7 letter of the request");

/** Uploads a letter to the order and to its first request, before anything else happens. */
export const uploadLetters = async (): Promise<void> => {
  for (const parent of parents().slice(0, 2)) {
    const name = letterOf(parent);
    await call("create", parent, {
      form: formOf({ "data[name]": name, "data[file_hint]": "LOA" }, `%PDF-1.7 ${name}`),
    });
  }
};

/** The ordering system starts the checkout by itself. */
const startByItself = async (): Promise<Execution | undefined> =>
  startExecution(`order-${newId()}`, JSON.stringify({ order_id: place.order }));

const startByOperator = async () =>
  isOperatorAbsent ? startByItself() : executionOf(await startCheckout(place.order));

let commands = 0;

export const commandsInProgress = (): number => commands;

/** Runs an operator's command, which may fail and is repeated later. */
const quietly = async <T>(command: () => Promise<T>): Promise<T | undefined> => {
  commands += 1;
  try {
    return await command();
  } catch (error) {
    say(() => `${currentTask().name} is told: ${error instanceof Error ? error.message : error}`);
    return undefined;
  } finally {
    commands -= 1;
  }
};

const startAgain = async () => {
  if (chance("starts again by itself") < 0.5) await startByItself();
  else await quietly(startByOperator);
};

/** Everything that customers, the ordering system and operators do, and how often. */
const activities = [
  upload,
  upload,
  upload,
  upload,
  change,
  change,
  change,
  remove,
  remove,
  remove,
  list,
  addRequest,
  startAgain,
] as const;

type Times = readonly [from: number, to: number];

/** Starts `count` activities, each at its own time, half of them while the first runs are in progress. */
export const startPeople = (count: number, longest: number): void => {
  const early: Times = [5, longest];
  const times = [early, early, early, [1_000, 300_000], [1_000, 300_000], [1_000, 7_200_000]] as const;
  for (let index = 1; index <= count; index += 1) {
    const activity = pick<(name: string) => Promise<void>>(`person ${index} does`, activities);
    const name = `${activity.name} ${index}`;
    const ms = between(`${name} at`, ...pick<Times>(`${name} is`, times));
    if (takesPart(`${name} at ${(ms / 1000).toFixed(2)} s`)) start(newTask(name), ms, () => activity(name));
  }
};

/** Step Functions behind its client. */
export const sendToStepFunctions = async (command: object): Promise<object> => {
  await pass(5 + 20 * chance(numbered("Step Functions")));
  if (command instanceof StartExecutionCommand) {
    const { name = newId(), input = "{}" } = command.input;
    if (!startExecution(name, input)) throw new ExecutionAlreadyExists({ message: "exists", $metadata: {} });
    return { executionArn: name };
  }
  if (command instanceof DescribeExecutionCommand) {
    const execution = executionOf(command.input.executionArn?.split(":").at(-1) ?? "");
    // DescribeExecution is eventually consistent.
    const named = numbered("describes");
    const lagMs = faultOf("Step Functions", named, ["lags"]) ? between(`${named} lag`, 100, 30_000) : 0;
    const then = execution && asOf(execution, elapsed() - lagMs);
    if (!then) throw new ExecutionDoesNotExist({ message: "does not exist", $metadata: {} });
    return then;
  }
  throw new Error(`The simulated Step Functions do not know ${command.constructor.name}.`);
};

/** EventBridge reports an execution that has not succeeded to `release-lock`, with best effort: in time, late, twice or never. */
export const tellOfEnd = ({ name, status, input, task, redriveCount }: Execution): void => {
  if (status === "RUNNING" || status === "SUCCEEDED") return;
  const named = `release-lock of ${task.name}${redriveCount > 0 ? `, redriven ${redriveCount}` : ""}`;
  const fault = faultOf("EventBridge", named, ["lost", "twice", "late"]);
  const longest = fault === "late" ? 86_400_000 : 20_000;
  const tell = (time: string) => {
    const detail = { executionArn: `arn:${name}`, name, status, input, redriveCount };
    start(newTask(`${named} ${time}`), between(`${named} ${time}`, 100, longest), () =>
      retried(() => invoke("invocation", "release-lock", Object(releaseLock), { detail }, 60)),
    );
  };
  if (fault !== "lost") tell("once");
  if (fault === "twice") tell("again");
};

/** Lambda tries an asynchronous invocation three times. */
const retried = async (work: () => Promise<unknown>) => {
  for (let attempt = 1; attempt <= 3; attempt += 1) {
    try {
      return await work();
    } catch {
      await pass(attempt * 60_000);
    }
  }
};

const isCheckedOut = () => itemAt(keys.order(place.order))?.state === "CHECKED_OUT";

/** An operator, or the ordering system alone, starts the checkout until the order is checked out or faults are over. */
export const operate = async (): Promise<void> => {
  if (faultOf("operator", "operator", ["starts twice"]))
    start(newTask("ordering system"), between("starts twice", 0.1, 1_000), startByItself);
  let execution = chance("starts") < 0.3 ? await startByItself() : await quietly(startByOperator);
  for (let run = 2; run <= 6 && !isCheckedOut(); run += 1) {
    if (faultOf("operator", `after run ${run - 1}`, ["aborts"])) await abort(execution, `run ${run - 1}`);
    const isPatient = chance(`run ${run} patience`) < 0.8;
    await Promise.race([
      execution?.ended,
      pass(isPatient ? 3_600_000 : between(`run ${run} impatience`, 100, 300_000)),
    ]);
    await pass(between(`run ${run} wait`, 1_000, 600_000));
    if (areFaultsOver()) return;
    if (!isOperatorAbsent && faultOf("operator", `after run ${run - 1}`, ["settles"])) await quietly(settleDoubt);
    await resendSome(`after run ${run - 1}`);
    execution = await quietly(startByOperator);
  }
};

/** Sometimes, an operator has what was sent sent again: all, or one attachment. The command refuses that where it would do harm. */
const resendSome = async (named: string) => {
  if (isOperatorAbsent || !faultOf("operator", named, ["resends"])) return;
  const sent = new Set(
    forwardable()
      .flatMap(receiptsBelow)
      .map(({ attachment }) => String(attachment)),
  );
  const one = [...sent][Math.floor(chance(`${named} resends which`) * sent.size)];
  const attachments = one === undefined || chance(`${named} resends all`) < 0.5 ? [] : [one];
  say(() => `${currentTask().name} resends ${attachments.map(nameOf).join() || "all"}`);
  await quietly(() => resend(place.order, attachments, { json: false }));
};

/** Operators who resend at any time, also while a run starts. */
export const resendAtAnyTime = (): void => {
  for (const time of ["once", "again"]) {
    const name = `operator resends ${time}`;
    start(newTask(name), between(name, 1_000, 3_600_000), () => resendSome(name));
  }
};

const abort = async (execution: Execution | undefined, name: string) => {
  await pass(between(`aborts ${name}`, 50, 100_000));
  execution?.end("ABORTED", errorNamed("Aborted"));
  for (const time of ["once", "again"]) {
    const named = `redrives ${name} ${time}`;
    if (!faultOf("operator", named, ["redrives"])) continue;
    start(newTask(named), between(named, 100, 1_500_000), async () => execution?.redrive());
  }
};

/** An operator asks the carrier, and records its answer, perhaps minutes later. */
const settleDoubt = async () => {
  const askedAt = new Date();
  const named = numbered("settles");
  const isMisled = faultOf("operator", named, ["misled"]) !== undefined;
  const outcome = allCarts().some((cart) => isCartCheckedOut(cart, isMisled)) ? "checked_out" : "open";
  say(() => `${currentTask().name} asks the carrier at ${askedAt.toISOString()}: ${outcome}`);
  if (faultOf("operator", named, ["types late"])) await pass(between(named, 1_000, 900_000));
  await settle(place.order, outcome, "I have asked the carrier.", askedAt, { json: false });
};

/** The sweep runs daily, also during traffic. */
export const sweepDaily = (days: number): void => {
  for (let day = 1; day <= days; day += 1)
    start(newTask(`sweep ${day}`), day * 86_400_000, () =>
      invoke("invocation", "sweep", Object(sweep), {}, 900).catch(() => undefined),
    );
};

/**
 * Once faults have ended, an operator or the ordering system alone starts the checkout until it succeeds. The customer removes a
 * refused letter. If the carrier cannot report the outcome and does not itself refuse, an operator settles the doubt.
 */
export const recover = async (): Promise<void> => {
  for (let run = 1; run <= 5 && !isCheckedOut(); run += 1) {
    const execution = await startByOperator();
    await execution?.ended;
    // Waits for another run that may be in progress.
    if (isOperatorAbsent) await pass(3_600_000);
    const refused = attachments().find(
      ({ parent, id }) => itemAt(keys.attachment(parent, id))?.sha256 === refusedLetter,
    );
    if (!isCheckedOut() && refused) await call("delete", refused.parent, { id: refused.id });
    const { outcome_unknown, calls_end_by, status } = itemAt(keys.checkout(place.order)) ?? {};
    // Settling would also release the lock of a dead run, which nobody does without an operator.
    if (run === 1 || !outcome_unknown || (isOperatorAbsent && status === "RUNNING")) continue;
    await pass(Date.parse(String(calls_end_by)) - Date.now() + 11_000);
    await quietly(settleDoubt);
  }
};
