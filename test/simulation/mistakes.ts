import { registerHooks } from "node:module";

/**
 * Mistakes that are put into the code on purpose, to see that a mix finds them: a file, a text in it, and its replacement. `within` is
 * after how many schedules of the mix it was found at the latest, of five tries with different seeds.
 */
export type Mistake = {
  readonly file: string;
  readonly text: string;
  readonly replacement: string;
  readonly mix: string;
  readonly within: number;
};

const forwardAttachment = "shared/checkout/forward-attachment.ts";
const receipts = "shared/checkout/receipts.ts";
const end = "shared/checkout/end.ts";
const seal = "shared/checkout/seal.ts";
const run = "shared/checkout/checkout-run.ts";
const attachments = "shared/attachments/attachments.ts";

export const mistakes: Readonly<Record<string, Mistake>> = {
  "a withdrawal of what exists": {
    file: forwardAttachment,
    text: `  if (version !== undefined) return { kind: "done" };\n`,
    replacement: "",
    mix: "copies",
    within: 1000,
  },
  "a PUT of any version": {
    file: forwardAttachment,
    text: "if (isForwarding && version === announced.version)",
    replacement: "if (isForwarding && version !== undefined)",
    mix: "copies",
    within: 1000,
  },
  "a PUT of what is gone": {
    file: forwardAttachment,
    text: "if (isForwarding && version === announced.version)",
    replacement: "if (isForwarding)",
    mix: "copies",
    within: 1000,
  },
  "a PUT without the lock": {
    file: forwardAttachment,
    text: "if (isForwarding && version === announced.version)",
    replacement: "if (version === announced.version)",
    mix: "copies",
    within: 1000,
  },
  "a withdrawal without the lock": {
    file: forwardAttachment,
    text: `  if (!isForwarding) return { kind: "stop" };\n`,
    replacement: "",
    mix: "copies",
    within: 1000,
  },
  "a lock that does not mind a checkout": {
    file: forwardAttachment,
    text: ` && data.status === "RUNNING" && !data.outcome_unknown`,
    replacement: ` && data.status === "RUNNING"`,
    mix: "copies",
    within: 1000,
  },
  "a withdrawal while a call is in flight": {
    file: forwardAttachment,
    text: "if (isInFlight(receipt)) return",
    replacement: "if (receipt.attempts < 0) return",
    mix: "late calls",
    within: 1000,
  },
  "a change while a call is in flight": {
    file: forwardAttachment,
    text: "if (receipt && announced.version !== receipt.version && isInFlight(receipt))",
    replacement: "if (receipt && announced.version < 0)",
    mix: "late calls",
    within: 1000,
  },
  "a call that counts as over when it ends": {
    file: receipts,
    text: "const in_flight_until = isOver ? (before?.in_flight_until ?? null) : announced.in_flight_until;",
    replacement: "const in_flight_until = before?.in_flight_until ?? null; void isOver;",
    mix: "late calls",
    within: 1000,
  },
  "an earlier call that counts as over": {
    file: receipts,
    text: "isOver ? (before?.in_flight_until ?? null) : announced",
    replacement: "isOver ? null : announced",
    mix: "late calls",
    within: 1000,
  },
  "a call that acts only while it lasts": {
    file: receipts,
    text: "longestCallMs(attachment.bytes) + lateMs(attachment.bytes)",
    replacement: "longestCallMs(attachment.bytes)",
    mix: "late calls",
    within: 1000,
  },
  "an outcome recorded by whoever comes": {
    file: receipts,
    text: "set: completed, when: unchanged(announced) }",
    replacement: "set: completed, when: {} }",
    mix: "copies",
    within: 1000,
  },
  "a receipt that is overwritten": {
    file: receipts,
    text: "const when = before ? unchanged(before) : { exists: false };",
    replacement: "const when = {}; void before;",
    mix: "copies",
    within: 1000,
  },
  "one key for all versions": {
    file: "shared/checkout/carrier.ts",
    text: "const { attachment, version, withdrawals",
    replacement: "const version = 1; const { attachment, withdrawals",
    mix: "all",
    within: 1000,
  },
  "a key for each attempt": {
    file: "shared/checkout/carrier.ts",
    text: "const { attachment, version, withdrawals",
    replacement: 'const version = receipt.version + "-" + receipt.attempts; const { attachment, withdrawals',
    mix: "late calls",
    within: 1000,
  },
  "receipts that are read first": {
    file: "shared/checkout/plan.ts",
    text: `  const owned = [...ofOrder, ...(await attachmentsOf({ type: "request", id: requestId }))];
  const receipts = new Map((await receiptsOf(requestId)).map((receipt) => [receipt.attachment, receipt]));`,
    replacement: `  const receipts = new Map((await receiptsOf(requestId)).map((receipt) => [receipt.attachment, receipt]));
  const owned = [...ofOrder, ...(await attachmentsOf({ type: "request", id: requestId }))];`,
    mix: "copies",
    within: 1000,
  },
  "a version that is read after the attachments": {
    file: "shared/checkout/plan.ts",
    text: `  const item = await get(keys.request(requestId));
  const { account, attachments_version: version } = parseItem(Request, item);
  const owned = [...ofOrder, ...(await attachmentsOf({ type: "request", id: requestId }))];
  const receipts = new Map((await receiptsOf(requestId)).map((receipt) => [receipt.attachment, receipt]));`,
    replacement: `  const owned = [...ofOrder, ...(await attachmentsOf({ type: "request", id: requestId }))];
  const receipts = new Map((await receiptsOf(requestId)).map((receipt) => [receipt.attachment, receipt]));
  const item = await get(keys.request(requestId));
  const { account, attachments_version: version } = parseItem(Request, item);`,
    mix: "table",
    within: 1000,
  },
  "a receipt that is up to date whatever was sent": {
    file: "shared/checkout/plan.ts",
    text: 'receipt?.state !== "forwarded" || !isUpToDate(receipt, attachment)',
    replacement: 'receipt?.state !== "forwarded" || attachment.bytes < 0',
    mix: "all",
    within: 1000,
  },
  "a seal without its version": {
    file: seal,
    text: "const unchanged = { equals: { attachments_version: version } };",
    replacement: "const unchanged = {};",
    mix: "all",
    within: 1000,
  },
  "a seal without the lock": {
    file: seal,
    text: "set: isRunning, when: { equals: isRunning } };",
    replacement: 'set: {status: "RUNNING"}, when: { exists: true } };',
    mix: "copies",
    within: 1000,
  },
  "an order whose version is read after its requests": {
    file: seal,
    text: `  const { attachments_version: version } = parseItem(Order, await get(keys.order(order_id)));
  const ids = await forwardableRequests(order_id);`,
    replacement: `  const ids = await forwardableRequests(order_id);
  const { attachments_version: version } = parseItem(Order, await get(keys.order(order_id)));`,
    mix: "table",
    within: 1000,
  },
  "requests that are sealed though there is more to forward": {
    file: seal,
    text: "if (forward.length + withdraw.length === 0)",
    replacement: "if (withdraw.length === 0 || forward.length > 0)",
    mix: "all",
    within: 1000,
  },
  "no grace after a crash": {
    file: run,
    text: "(endedProperly ? 0 : checkoutLimits.graceSeconds * 1000)",
    replacement: "(endedProperly ? 0 : 0)",
    mix: "crashes",
    within: 1000,
  },
  "a stale seal of the order that is kept": {
    file: run,
    text: "const isStale = seal !== undefined && !locked.outcome_unknown;",
    replacement: "const isStale = false;",
    mix: "crashes",
    within: 1000,
  },
  "a doubt that a new run forgets": {
    file: run,
    text: "const outcome_unknown = last?.outcome_unknown ?? false;",
    replacement: "const outcome_unknown = false;",
    mix: "doubt",
    within: 1000,
  },
  "two runs at once": {
    file: run,
    text: "const when = last ? { equals: { run: last.run, status: last.status, outcome_unknown } } : { exists: false };",
    replacement: "const when = {};",
    mix: "crashes",
    within: 1000,
  },
  "a run that begins twice": {
    file: run,
    text: "if (last && [last.run, ...last.earlier_runs].includes(run))",
    replacement: 'if (last && run === "")',
    mix: "copies",
    within: 1000,
  },
  "a copy of submit that decides for another": {
    file: end,
    text: '{ equals: { run, status: "RUNNING", calls_end_by } }',
    replacement: '{ equals: { run, status: "RUNNING" } }',
    mix: "doubt",
    within: 1000,
  },
  "a POST that is not announced once": {
    file: end,
    text: '{ status: "RUNNING", calls_end_by: before.calls_end_by })))',
    replacement: '{ status: "RUNNING" })))',
    mix: "doubt",
    within: 1000,
  },
  "a 422 that settles whatever is in flight": {
    file: end,
    text: "const outcome_unknown = mayBeInFlight || !saysOpen",
    replacement: "void mayBeInFlight; const outcome_unknown = !saysOpen",
    mix: "doubt",
    within: 1000,
  },
  "any refusal settles": {
    file: end,
    text: "(status === 422 || reason !== null || !mayHaveActed)",
    replacement: "(status > 0 || reason !== null || !mayHaveActed)",
    mix: "doubt",
    within: 1000,
  },
  "a question that is asked at once": {
    file: end,
    text: "const wait = secondsUntil(before.calls_end_by, now);",
    replacement: "const wait = secondsUntil(before.calls_end_by, now) * 0;",
    mix: "doubt",
    within: 1000,
  },
  "a POST for what nobody has sealed": {
    file: end,
    text: "return seal?.run === ref.run ? callCheckout(submission, before) : ask(submission, before);",
    replacement: "return before.outcome_unknown ? ask(submission, before) : callCheckout(submission, before);",
    mix: "crashes",
    within: 1000,
  },
  "a cart that cannot say and is open": {
    file: end,
    text: "return cart.checkedOut === null && seal ? callCheckout(submission, before) : reopen(submission, before);",
    replacement: "return reopen(submission, before);",
    mix: "doubt",
    within: 1000,
  },
  "seals that stay after a refusal": {
    file: end,
    text: "if (!last.outcome_unknown) await liftSeals",
    replacement: 'if (last.reason === "") await liftSeals',
    mix: "all",
    within: 1000,
  },
  "seals that are lifted in doubt": {
    file: end,
    text: "if (!last.outcome_unknown) await liftSeals",
    replacement: "await liftSeals",
    mix: "doubt",
    within: 1000,
  },
  "a failure that does not stop seals first": {
    file: end,
    text: '  await updateRun(ref, { status: "STOPPING", reason: defaultReason, next_try_at: null }, { status: "RUNNING" });\n',
    replacement: "",
    mix: "crashes",
    within: 1000,
  },
  "a finish of any run": {
    file: end,
    text: 'when: { equals: { run, status: "RUNNING" } } },\n    open',
    replacement: "when: {} },\n    open",
    mix: "crashes",
    within: 1000,
  },
  "a finish that does not count": {
    file: end,
    text: "describeLeftBehind(await leftBehind(order_id))",
    replacement: "describeLeftBehind({ ...(await leftBehind(order_id)), not_withdrawn: 0 })",
    mix: "all",
    within: 1000,
  },
  "a 409 to a PUT that leaves no doubt": {
    file: forwardAttachment,
    text: "status === 409 ? { outcome_unknown: true } : {}",
    replacement: "{}",
    mix: "doubt",
    within: 1000,
  },
  "metadata before their file": {
    file: attachments,
    text: "  await putFile(storedAs, file);\n  const attachment = attachmentOf(created);\n  const failed = await putMetadata(parent, attachment, origin, idempotency?.write(created));",
    replacement:
      "  const attachment = attachmentOf(created);\n  const failed = await putMetadata(parent, attachment, origin, idempotency?.write(created));\n  await putFile(storedAs, file);",
    mix: "files",
    within: 1000,
  },
  "a file that is removed though its write may commit": {
    file: attachments,
    text: "if (failed.final) await removeFile(storedAs);",
    replacement: "await removeFile(storedAs);",
    mix: "table",
    within: 1000,
  },
  "a write that is not repeated under its token": {
    file: "shared/table/write.ts",
    text: "ClientRequestToken: randomUUID() };",
    replacement: "get ClientRequestToken() { return randomUUID(); } };",
    mix: "table",
    within: 1000,
  },
  "an upload that changes no version": {
    file: attachments,
    text: "add: { attachment_count: countBy, attachments_version: 1 }",
    replacement: "add: { attachment_count: countBy, attachments_version: 1 - countBy ** 2 }",
    mix: "all",
    within: 1000,
  },
  "an unfinished delete that never expires": {
    file: attachments,
    text: "{ ...unfinishedKey, ...deleted, expires_at }",
    replacement: "{ ...unfinishedKey, ...deleted }",
    mix: "files",
    within: 1000,
  },
  "a late end of a run that is a defect": {
    file: end,
    text: "throw new LostLock(",
    replacement: "throw new Error(",
    mix: "crashes",
    within: 1000,
  },
};

/** Puts a mistake into the code that is loaded from now on. */
export const make = ({ file, text, replacement }: Mistake): void => {
  registerHooks({
    load: (url, context, nextLoad) => {
      const loaded = nextLoad(url, context);
      if (!url.endsWith(`/${file}`)) return loaded;
      const source = String(loaded.source);
      if (source.split(text).length !== 2) throw new Error(`${file} does not have this text once: ${text}`);
      return { ...loaded, source: source.replace(text, () => replacement) };
    },
  });
};
