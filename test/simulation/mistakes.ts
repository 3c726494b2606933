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
    mix: "crashes",
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
    mix: "crashes",
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
  "seals that are lifted before no step can seal": {
    file: end,
    text: `  await updateRun(ref, { status: "STOPPING", reason: defaultReason, next_try_at: null }, { status: "RUNNING" });
  const last = await readRun(ref.order_id);
  if (last?.run !== ref.run) return { reason: defaultReason };
  const reason = last.reason ?? defaultReason;
  if (last.status !== "STOPPING") return { reason };
  if (!last.outcome_unknown) await liftSeals(ref.order_id, [last.run, ...last.earlier_runs]);`,
    replacement: `  const first = await readRun(ref.order_id);
  if (first && !first.outcome_unknown) await liftSeals(ref.order_id, [first.run, ...first.earlier_runs]);
  await updateRun(ref, { status: "STOPPING", reason: defaultReason, next_try_at: null }, { status: "RUNNING" });
  const last = await readRun(ref.order_id);
  if (last?.run !== ref.run) return { reason: defaultReason };
  const reason = last.reason ?? defaultReason;
  if (last.status !== "STOPPING") return { reason };`,
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
    mix: "requests",
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
  "a refusal of an old copy that stops the run": {
    file: forwardAttachment,
    text: `  if (!recorded) return leaveToOther(target, announced);
  const stopped`,
    replacement: "  const stopped",
    mix: "copies",
    within: 1000,
  },
  "a run that is stopped though it has checked out": {
    file: run,
    text: 'export const forwarding = { status: "RUNNING", outcome_unknown: false } as const;',
    replacement: 'export const forwarding = { status: "RUNNING" } as const;',
    mix: "copies",
    within: 1000,
  },
  "a gateway timeout that counts as over": {
    file: "shared/checkout/carrier-client.ts",
    text: "mayHaveActed && status !== 500 && status !== 503;",
    replacement: "false;",
    mix: "late calls",
    within: 1000,
  },
  "a broken connection that counts as over": {
    file: "shared/checkout/carrier-client.ts",
    text: "mayHaveActed: isOpen, mayBeInProgress: isOpen };",
    replacement: "mayHaveActed: isOpen, mayBeInProgress: false };",
    mix: "late calls",
    within: 1000,
  },
  "a broken connection that counts as not arrived": {
    file: "shared/checkout/carrier-client.ts",
    text: "const isOpen = error instanceof AdapterError ? error.mayHaveActed : !neverArrived(error);",
    replacement: "const isOpen = false;",
    mix: "doubt",
    within: 1000,
  },
  "a 500 that counts as not processed": {
    file: "shared/checkout/carrier-client.ts",
    text: "const mayHaveActed = status !== 429;",
    replacement: "const mayHaveActed = status !== 429 && status !== 500;",
    mix: "doubt",
    within: 1000,
  },
  "attempts of which only the last counts": {
    file: "shared/checkout/carrier-client.ts",
    text: "mayHaveActed: doubt.mayHaveActed || result.mayHaveActed,",
    replacement: "mayHaveActed: result.mayHaveActed,",
    mix: "doubt",
    within: 1000,
  },
  "a POST that may come after its time": {
    file: end,
    text: "const response = await checkOutUpstream(ref.order_id, endsBy);",
    replacement: "const response = await checkOutUpstream(ref.order_id, endsBy + 1e9);",
    mix: "crashes",
    within: 1000,
  },
  "a POST that is over when it ends": {
    file: end,
    text: "isOver ? 0 : lateMs(0)",
    replacement: "isOver ? 0 : 0",
    mix: "doubt",
    within: 1000,
  },
  "an earlier doubt that a refusal forgets": {
    file: end,
    text: "const mayHaveActed = before.outcome_unknown || response.mayHaveActed;",
    replacement: "const mayHaveActed = response.mayHaveActed;",
    mix: "doubt",
    within: 1000,
  },
  "a redirect that settles": {
    file: end,
    text: "status !== null && status >= 400 && (status",
    replacement: "(status === null || status >= 400) && (status",
    mix: "doubt",
    within: 1000,
  },
  "an answer that cannot be used and means no": {
    file: "shared/checkout/carrier.ts",
    text: '  if (data) return { kind: "said", checkedOut: data.checked_out };',
    replacement: '  return { kind: "said", checkedOut: data?.checked_out ?? false };',
    mix: "doubt",
    within: 1000,
  },
  "a seal that stays when the cart is open": {
    file: end,
    text: `order: seal && { update: keys.order(ref.order_id), remove: ["seal"], when: { equals: { seal } } },
  });
  if (failed.size > 0) return ended(submission, "FAILED");
  const reason`,
    replacement: `});
  if (failed.size > 0) return ended(submission, "FAILED");
  const reason`,
    mix: "doubt",
    within: 1000,
  },
  "a crash that is marked whatever has happened since": {
    file: run,
    text: "return updateRun(ref, crashed, { status }, event);",
    replacement: "return updateRun(ref, crashed, {}, event);",
    mix: "crashes",
    within: 1000,
  },
  "an active run that counts as crashed": {
    file: "functions/checkout/release-lock.ts",
    text: "last && last.run === run && isActive(last, new Date())",
    replacement: "last && isActive(last, new Date())",
    mix: "crashes",
    within: 1000,
  },
  "a settled doubt while a call may act": {
    file: "infra/admin/settle.ts",
    text: 'if (outcome === "open" && Date.parse(last.calls_end_by) > now.getTime())',
    replacement: 'if (outcome === "open" && last.run === "")',
    mix: "doubt",
    within: 1000,
  },
  "seals that stay when a doubt is settled": {
    file: "infra/admin/settle.ts",
    text: '? { update: order, remove: ["seal"], when: { exists: true } }',
    replacement: "? undefined",
    mix: "doubt",
    within: 1000,
  },
  "a request that does not change its order": {
    file: "shared/tenants/apply.ts",
    text: "attachments_version: 1",
    replacement: "attachments_version: 0",
    mix: "all",
    within: 1000,
  },
  "a change that does not change its parent": {
    file: attachments,
    text: `      parent: changeParent(parent),
`,
    replacement: "",
    mix: "all",
    within: 1000,
  },
  "a delete that does not mind the version": {
    file: attachments,
    text: "attachment: { delete: keys.attachment(parent, latest.id), when: { equals: { version: latest.version } } },",
    replacement: "attachment: { delete: keys.attachment(parent, latest.id), when: { exists: true } },",
    mix: "table",
    within: 1000,
  },
  "a change that does not mind the version": {
    file: attachments,
    text: "set, when: { equals: { version: latest.version } } },",
    replacement: "set, when: { exists: true } },",
    mix: "table",
    within: 1000,
  },
  "a file that is removed before its metadata": {
    file: attachments,
    text: "  const deleted = unfinished",
    replacement: `  await removeFile(fileKey(parent, current.id));
  const deleted = unfinished`,
    mix: "files",
    within: 1000,
  },
  "an Idempotency-Key without its condition": {
    file: "shared/http/idempotency.ts",
    text: "when: { absentOrExpiredAt: seconds },",
    replacement: "when: {},",
    mix: "requests",
    within: 1000,
  },
  "reads that are not consistent": {
    file: "shared/table/read.ts",
    text: "Key: key, ConsistentRead: true });",
    replacement: "Key: key });",
    mix: "all",
    within: 1000,
  },
  "reads of many that are not consistent": {
    file: "shared/table/read.ts",
    text: "Keys: [...remaining], ConsistentRead: true }",
    replacement: "Keys: [...remaining] }",
    mix: "all",
    within: 1000,
  },
  "lists that are not consistent": {
    file: "shared/table/read.ts",
    text: `      ConsistentRead: true,
      ScanIndexForward`,
    replacement: "      ScanIndexForward",
    mix: "all",
    within: 1000,
  },
  "keys that are left unprocessed": {
    file: "shared/table/read.ts",
    text: "remaining = UnprocessedKeys?.[table]?.Keys ?? [];",
    replacement: "remaining = [];",
    mix: "table",
    within: 1000,
  },
  "a conflict that is not repeated": {
    file: "shared/table/write.ts",
    text: 'const transient = ["TransactionConflict",',
    replacement: 'const transient = ["",',
    mix: "table",
    within: 1000,
  },
  "a file that is forwarded before its scan": {
    file: forwardAttachment,
    text: '  if (found === null || found === "FAILED") {',
    replacement: '  if (found === "FAILED") {',
    mix: "files",
    within: 1000,
  },
  "evidence that is recorded without its change": {
    file: receipts,
    text: `when: unchanged(announced) },
    event`,
    replacement: `when: {} },
    event`,
    mix: "copies",
    within: 1000,
  },
  "an event that nobody records": {
    file: receipts,
    text: "event: outcome.state && recordDecision",
    replacement: 'event: outcome.state === "withdrawn" ? undefined : outcome.state && recordDecision',
    mix: "all",
    within: 1000,
  },
  "pages that leave out their last request": {
    file: "shared/tenants/orders.ts",
    text: "if (through !== undefined && id > through) break;",
    replacement: "if (through !== undefined && id >= through) break;",
    mix: "all",
    within: 1000,
  },
  "a page that is sealed whatever was forwarded": {
    file: seal,
    text: 'return complete.length < requests.length ? "CHANGED" : sealAll(page, complete);',
    replacement: "return sealAll(page, complete);",
    mix: "all",
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
