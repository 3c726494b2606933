import { randomBytes } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import leven from "leven";
import { invalid, type Problem } from "../errors.ts";
import type { EventType } from "../history/event.ts";
import { type Changes, type Origin, recordOf } from "../history/record.ts";
import { maxProblems } from "../limits.ts";
import { pointer } from "../schema/check.ts";
import type { Item, Write } from "../table/expressions.ts";
import { hashApiKey, type Key, keys } from "../table/keys.ts";
import { nextVersion, type Precondition, type Versioned } from "../table/optimistic-update.ts";
import { type Entry, entryTypes, parseFile, requiredProperties, type SectionName, type Sent } from "./apply-schema.ts";
import { describeUnknown, knownPermissions, type Warning } from "./permissions.ts";
import { type Resolved, resolve } from "./references.ts";
import {
  type ApiKey,
  canAccess,
  forwardedTypes,
  isForwarded,
  isKnown,
  type Order,
  type OrderState,
  type Request,
  type User,
  whileItLasts,
} from "./tenant-schema.ts";
import type { EntryWrites } from "./transactions.ts";

/** The result of `apply` for an entry. Only this result contains a generated API key. */
export type Result = {
  /** It is null in a dry run, if the entry would get a new id. */
  readonly id: string | null;
  readonly status: "created" | "changed" | "unchanged";
  readonly changes?: Changes;
  readonly key?: string;
  /** Only orders have it. */
  readonly state?: OrderState;
  /** How the last run of an order's checkout ended, or that it is in progress. It is null before the first run. */
  readonly last_run?: { readonly status: string; readonly failure: string | null } | null;
};

/** Where an entry is in the file. It is the entry's section and its name. */
type Path<S extends SectionName = SectionName> = readonly [S, string];

export type Planned = EntryWrites & { readonly path: Path; readonly result: Result };

type Options = {
  readonly sections: readonly SectionName[];
  readonly dryRun: boolean;
  /** Called with the version of each existing account, user or API key in the file. */
  readonly precondition?: Precondition | undefined;
  /** Problems of the file's text that cannot be seen in the document. */
  readonly problems?: readonly Problem[] | undefined;
};

/** Plans what `apply` writes for each entry of a file. Writes nothing. Throws 422 with all problems if the file is invalid. */
export const planFile = async (document: unknown, origin: Origin, options: Options) => {
  const { sections, dryRun, precondition } = options;
  const { file, dryRun: dryRunInFile, onBehalfOf, problems } = parseFile(document, sections);
  problems.unshift(...(options.problems ?? []));
  const isDry = dryRun || dryRunInFile;
  const actor = onBehalfOf === undefined ? origin.actor : { ...origin.actor, on_behalf_of: onBehalfOf };
  const resolved: ToPlan = {
    ...(await resolve(file, problems)),
    origin: { ...origin, actor },
    isDry,
    precondition,
    warnings: [],
  };
  const plan = <S extends SectionName>(section: S, planOne: PlanEntry<S>) => {
    const entries: ReadonlyMap<string, Sent<Entry<S>>> = file[section];
    return [...entries].flatMap(([name, { raw, entry }]) => {
      const path: Path<S> = [section, name];
      const id = resolved.idOf(section, name);
      if (entry) return [planOne(path, id, entry, resolved)];
      // The other problems of an entry that is not well-formed are already reported. Such an entry may be no object, or change what
      // exists.
      if (Object.keys(raw).length > 0 && !("id" in raw || "sha256" in raw)) reportMissing(path, raw, resolved);
      return [];
    });
  };
  const planned = [
    ...plan("accounts", planAccount),
    ...plan("users", planUser),
    ...plan("orders", planOrder),
    ...plan("requests", planRequest),
    // API keys come last, so that no caller has access to anything until everything else is written.
    ...plan("keys", planKey),
  ];
  if (problems.length > 0) throw invalid(problems.slice(0, maxProblems));
  return { planned, warnings: resolved.warnings, isDry };
};

/** Finding the nearest permission takes time, so `describe` is called only if there is room. */
const warn = (path: readonly (string | number)[], describe: () => string, { warnings }: ToPlan) => {
  if (warnings.length < maxProblems) warnings.push({ pointer: pointer(path), detail: describe() });
};

type ToPlan = Resolved &
  Pick<Options, "precondition"> & { readonly origin: Origin; readonly isDry: boolean; readonly warnings: Warning[] };

type PlanEntry<S extends SectionName> = (path: Path<S>, id: string, entry: Entry<S>, resolved: ToPlan) => Planned;

type Properties = Readonly<Record<string, unknown>>;
type Subject = Partial<Versioned> & { readonly id: string; readonly account: string; readonly order?: string };

const recorded = (type: EventType, subject: Subject, origin: Origin, changes?: Changes) => {
  const { id, account, order, version } = subject;
  const resource = { type: type.split(".")[0] ?? "", id, version: version ?? null };
  return recordOf({ type, account, resource, ...(order && { parent: { type: "order", id: order } }), changes }, origin);
};

const reportMissing = (path: Path, entry: Properties, { report }: Pick<ToPlan, "report">) => {
  for (const property of requiredProperties[path[0]])
    if (entry[property] === undefined) report([...path, property], "can't be blank", "constraint.required");
};

/** Plans the creation of an entry in an account. Reports the required properties that it lacks. */
const planNew = (
  path: Path,
  entry: Properties,
  subject: Subject,
  items: readonly (Key & Item)[],
  { report, origin, isDry, stored }: ToPlan,
  owner = subject.account,
): Planned => {
  reportMissing(path, entry, { report });
  const stays = stored.accounts.get(owner);
  if (stays && !isKnown(stays)) report(path, "belongs to an account that is being erased");
  const ofOwner: Write[] = stored.accounts.has(owner) ? [{ check: keys.account(owner), when: whileItLasts }] : [];
  const writes = [...ofOwner, ...items.map((put): Write => ({ put, when: { exists: false } }))];
  const id = isDry && entry.id === undefined ? null : subject.id;
  const event = recorded(`${entryTypes[path[0]]}.created`, subject, origin);
  return { path, result: { id, status: "created" }, writes: [...writes, event] };
};

const firstVersion = ({ origin }: ToPlan) => ({ version: 1, updated_at: origin.now.toISOString() });

/** Plans an update of the `mutable` properties that differ, and reports `immutable` ones that differ. The file omits undefined ones. */
const planExisting = (
  path: Path<"accounts" | "users" | "keys">,
  key: Key,
  stored: Properties & Versioned,
  subject: Subject,
  sent: { readonly immutable: Properties; readonly mutable: Properties },
  resolved: ToPlan,
): Planned => {
  resolved.precondition?.(stored.version);
  reportImmutable(path, stored, sent.immutable, resolved);
  const differs = ([name, to]: [string, unknown]) => to !== undefined && !isDeepStrictEqual(to, stored[name]);
  const set = Object.fromEntries(Object.entries(sent.mutable).filter(differs));
  const names = Object.keys(set);
  if (names.length === 0) return unchanged(path, subject.id);
  const changes = Object.fromEntries(names.map((name) => [name, { from: stored[name], to: set[name] }]));
  const next = nextVersion(stored, resolved.origin.now);
  const origin = { ...resolved.origin, now: new Date(next.updated_at) };
  return {
    path,
    result: { id: subject.id, status: "changed", changes },
    stored,
    writes: [
      { update: key, set: { ...set, ...next }, when: { equals: { version: stored.version } } },
      recorded(`${entryTypes[path[0]]}.updated`, { ...subject, ...next }, origin, changes),
    ],
  };
};

const unchanged = (path: Path, id: string): Planned => ({ path, result: { id, status: "unchanged" }, writes: [] });

const reportImmutable = (path: Path, stored: Properties, sent: Properties, { report }: ToPlan) => {
  const section = path[0];
  for (const [name, value] of Object.entries(sent))
    if (value !== undefined && value !== stored[name]) {
      const advice = section === "accounts" && name === "parent" ? toMoveAnAccount : "";
      report(
        [...path, name],
        `can't be changed: it is ${JSON.stringify(stored[name])}${advice}`,
        "constraint.immutable",
      );
    }
};

const toMoveAnAccount =
  ". To move an account, export it, create another one below that parent, and apply its orders and requests there";

const planAccount: PlanEntry<"accounts"> = (path, id, entry, resolved) => {
  const stored = resolved.stored.accounts.get(id);
  const subject = { id, account: id };
  if (!stored) {
    const account = resolved.account(path[1]);
    // The problem is reported, so nothing is written.
    if (!account) return unchanged(path, id);
    const above = account.ancestors.at(-1);
    const child = { ...keys.childAccount(above ?? null, id), id };
    const first = firstVersion(resolved);
    const items = [{ ...keys.account(id), ...account, ...first }, child];
    return planNew(path, entry, { ...subject, ...first }, items, resolved, above);
  }
  if (!isKnown(stored)) resolved.report(path, "is being erased");
  const parent = entry.parent ? resolved.account(entry.parent)?.id : entry.parent;
  const features = entry.features && { ...stored.features, ...entry.features };
  const sent = { immutable: { parent }, mutable: { name: entry.name, features } };
  const before = { ...stored, parent: stored.ancestors.at(-1) ?? null };
  return planExisting(path, keys.account(id), before, subject, sent, resolved);
};

const ownerId = (reference: string | undefined, { account }: ToPlan) =>
  reference === undefined ? undefined : account(reference)?.id;

/** Permissions are a set. */
const sorted = (permissions: readonly string[]) => [...new Set(permissions)].sort();

const planUser: PlanEntry<"users"> = (path, id, { account, permissions, disabled, ...entry }, resolved) => {
  for (const [index, permission] of permissions?.entries() ?? [])
    if (!knownPermissions.includes(permission))
      warn([...path, "permissions", index], () => describeUnknown(permission), resolved);
  const owner = ownerId(account, resolved);
  const stored = resolved.stored.users.get(id);
  if (!stored) {
    const settings = { permissions: permissions ?? [], disabled: disabled ?? false };
    const user: User = { id, account: owner ?? "", ...settings, ...firstVersion(resolved) };
    const listed = { ...keys.accountUser(user.account, id), id };
    return planNew(path, { ...entry, account }, user, [{ ...keys.user(id), ...user }, listed], resolved);
  }
  const isSameSet = permissions && isDeepStrictEqual(sorted(permissions), sorted(stored.permissions));
  const mutable = { permissions: isSameSet ? undefined : permissions, disabled };
  return planExisting(path, keys.user(id), stored, stored, { immutable: { account: owner }, mutable }, resolved);
};

const planKey: PlanEntry<"keys"> = (path, id, entry, resolved) => {
  const stored = resolved.stored.keys.get(entry.id ?? entry.sha256 ?? "");
  const owner = entry.account === undefined ? undefined : resolved.account(entry.account);
  const account = owner?.id;
  const user = entry.user ? resolved.idBehind("users", entry.user) : entry.user;
  const expires_at = entry.expires_at ? new Date(entry.expires_at).toISOString() : entry.expires_at;
  const replaced_by = entry.replaced_by && resolved.idBehind("keys", entry.replaced_by);
  if (stored) {
    // A key that is already replaced cannot get a second successor.
    const replacement = stored.replaced_by === null ? {} : { replaced_by };
    const immutable = { id: entry.id, account, user, sha256: entry.sha256, ...replacement };
    if (stored.revoked && entry.revoked === false)
      warn([...path, "revoked"], () => "stays true, because a revoked key never becomes valid again", resolved);
    const revoked = stored.revoked || entry.revoked;
    const sent = { immutable, mutable: { label: entry.label, expires_at, revoked, replaced_by } };
    return planExisting(path, keys.apiKey(stored.sha256), stored, stored, sent, resolved);
  }
  const userOwner = entry.user ? resolved.ownerOf("users", entry.user) : undefined;
  if (owner && userOwner && !canAccess(userOwner.id, owner))
    resolved.report(
      [...path, "user"],
      "must be a user of the key's account or of one above it",
      "constraint.reference",
    );
  if (entry.sha256 && resolved.stored.keys.has(entry.sha256))
    resolved.report([...path, "sha256"], "is the hash of a key with another id", "constraint.immutable");
  const generated = entry.sha256 || resolved.isDry ? undefined : `apik_${randomBytes(32).toString("base64url")}`;
  const sha256 = entry.sha256 ?? hashApiKey(generated ?? "");
  const key: ApiKey = {
    id,
    account: account ?? "",
    user: user ?? null,
    label: entry.label ?? null,
    inserted_at: resolved.origin.now.toISOString(),
    expires_at: expires_at ?? null,
    revoked: entry.revoked ?? false,
    replaced_by: replaced_by ?? null,
    ...firstVersion(resolved),
  };
  const items = [
    { ...keys.apiKey(sha256), ...key },
    { ...keys.apiKeyId(id), sha256, account: key.account },
    { ...keys.accountKey(key.account, id), id, sha256 },
  ];
  const planned = planNew(path, entry, key, items, resolved);
  return generated === undefined ? planned : { ...planned, result: { ...planned.result, key: generated } };
};

const planOrder: PlanEntry<"orders"> = (path, id, entry, resolved) => {
  const account = entry.account === undefined ? undefined : resolved.account(entry.account);
  const stored = resolved.stored.orders.get(id);
  if (!stored) {
    const order: Order = {
      id,
      account: account?.id ?? "",
      ancestors: account?.ancestors ?? [],
      state: entry.state ?? "CART",
      attachment_count: 0,
      attachments_version: 0,
    };
    const listed = { ...keys.accountOrder(order.account, id), id };
    const planned = planNew(path, entry, order, [{ ...keys.order(id), ...order }, listed], resolved);
    return { ...planned, result: { ...planned.result, state: order.state, last_run: null } };
  }
  // An order that the file has in the cart may have been checked out since. That is not a difference.
  const state = entry.state === "CART" ? undefined : entry.state;
  reportImmutable(path, stored, { account: account?.id, state }, resolved);
  const planned = unchanged(path, id);
  const last_run = resolved.stored.runs.get(id) ?? null;
  return { ...planned, result: { ...planned.result, state: stored.state, last_run } };
};

const lettersOf = (type: string) => type.toUpperCase().replaceAll(/[\s_-]/g, "");

/** Whether a type differs from a forwarded one only in case, separators or one letter. Its attachments would never be forwarded. */
const isMisspelt = (type: string) =>
  !isForwarded(type) && forwardedTypes.some((one) => leven(lettersOf(type), lettersOf(one), { maxDistance: 2 }) < 2);

const planRequest: PlanEntry<"requests"> = (path, id, entry, resolved) => {
  const stored = resolved.stored.requests.get(id);
  const order = entry.order === undefined ? undefined : resolved.order(entry.order);
  const sentOwner = ownerId(entry.account, resolved);
  const misspelt = `${entry.type} is never forwarded. Forwarded types: ${forwardedTypes.join(", ")}`;
  if (entry.type !== undefined && isMisspelt(entry.type)) warn([...path, "type"], () => misspelt, resolved);
  if (stored) {
    reportImmutable(path, stored, { order: order?.id, account: sentOwner, type: entry.type }, resolved);
    return unchanged(path, id);
  }
  const owner = entry.account === undefined ? order?.account : resolved.account(entry.account);
  if (owner && order?.account && !canAccess(order.account.id, owner))
    resolved.report([...path, "account"], "must be the account of the order or one below it");
  if (order?.isSubmitted && isForwarded(entry.type))
    resolved.report([...path, "order"], "has been checked out at the carrier", "constraint.reference");
  const request: Request = {
    id,
    account: owner?.id ?? "",
    ancestors: owner?.ancestors ?? [],
    order: order?.id ?? "",
    type: entry.type ?? "",
    attachment_count: 0,
  };
  const { account, type } = request;
  const items = [
    { ...keys.request(id), ...request },
    { ...keys.orderRequest(request.order, id), id, type, account },
  ];
  const planned = planNew(path, entry, request, items, resolved);
  if (order?.state !== "CART") return planned;
  // Increments the order's version, so that a running checkout notices the request.
  const move = { update: keys.order(order.id), add: { attachments_version: 1 }, when: { equals: { state: "CART" } } };
  return { ...planned, writes: [...planned.writes, move] };
};
