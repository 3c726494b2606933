import { keys, type ParentRef } from "../../../shared/table/keys.ts";
import { interceptTableCalls, type TableCall } from "../fault-proxy/table-proxy.ts";
import type { carrier } from "../servers/carrier.ts";
import { type Model, type Place, places } from "./interleaving-order.ts";
import { currentActor, gate } from "./schedules.ts";

/** What the interleaving test sees of a schedule, and what it makes of it. */

export type Seen = { readonly actor: string; readonly call: TableCall };

/** Makes each call of an actor wait for its turn, and keeps those that were done. `spoil` may rewrite them. */
export const observe = () => {
  const seen: Seen[] = [];
  let spoil: (call: TableCall) => void = () => {};
  const leave = interceptTableCalls(async (call, pass) => {
    const actor = currentActor();
    if (!actor) return pass();
    await gate(call.items.map(({ pk, sk }) => `${pk} ${sk}`));
    if (actor === "checkout") spoil(call);
    const answer = await pass();
    seen.push({ actor, call });
    return answer;
  });
  return {
    leave,
    begin: () => {
      seen.length = 0;
    },
    /** Rewrites the checkout's calls from now on; without an argument no more. */
    spoil: (how: (call: TableCall) => void = () => {}) => {
      spoil = how;
    },
    seen,
  };
};

const isSealOf = (parent: ParentRef, { actor, call }: Seen) =>
  actor === "checkout" &&
  call.input.UpdateExpression?.startsWith("SET #seal") === true &&
  call.input.Key?.pk === keys.parent(parent).pk;

/** Takes the condition out of each seal: it holds whatever has happened to the parent. */
export const withoutSealCondition = ({ input, rewrite }: TableCall): void => {
  if (input.UpdateExpression?.startsWith("SET #seal"))
    rewrite({ ConditionExpression: `${input.ConditionExpression} OR attribute_exists(pk)` });
};

/** Forgets that anything was forwarded: each receipt stays pending. */
export const withoutReceipts = ({ input, rewrite }: TableCall): void => {
  const values = input.ExpressionAttributeValues;
  if (!input.Key?.sk.startsWith("RECEIPT#") || !values) return;
  const forgotten = Object.entries(values).map(([key, value]) => [key, value === "forwarded" ? "pending" : value]);
  rewrite({ ExpressionAttributeValues: Object.fromEntries(forgotten) });
};

type Cart = Awaited<ReturnType<Awaited<ReturnType<typeof carrier>>["cart"]>>;
export type Changes = { readonly upload: Place; readonly delete: Place };

/** An attachment of the model, with the moments of its life; -1 is from the beginning. */
type Life = { readonly id: string; readonly place: Place; readonly confirmed: number; readonly deleted: number };

const livesOf = ({ attached }: Model, changes: Changes, seen: readonly Seen[]): Life[] => {
  const momentOf = (name: string) =>
    seen.findIndex(({ actor, call }) => actor === name && call.operation === "TransactWriteItems");
  const confirmed = momentOf("upload");
  const key = seen[confirmed]?.call.items.find(({ sk }) => sk.startsWith("ATTACHMENT#"));
  const uploaded = { id: key?.sk.split("#")[1] ?? "", place: changes.upload, confirmed, deleted: Infinity };
  const others = places.flatMap((place) => {
    const deleted = place === changes.delete ? momentOf("delete") : Infinity;
    const { id } = attached[place] ?? {};
    return id ? [{ id, place, confirmed: -1, deleted }] : [];
  });
  return [uploaded, ...others];
};

/** Which promises a schedule broke: an attachment missing at the carrier, left behind there, unasked, or sent twice. */
export const brokenBy = (model: Model, changes: Changes, seen: readonly Seen[], cart: Cart) => {
  const held = new Set(cart.attachments.map(({ request_id, attachment_id }) => `${request_id} ${attachment_id}`));
  const broken = new Set<"missing" | "left behind" | "unasked" | "sent twice" | "not checked out">();
  for (const { id, place, confirmed, deleted } of livesOf(model, changes, seen)) {
    const sealed = seen.findLastIndex((one) => isSealOf(model.parents[place], one));
    for (const request of place === "order" ? model.requests : [model.parents[place].id]) {
      const isThere = held.has(`${request} ${id}`);
      const isWanted = confirmed < sealed && deleted > sealed;
      if (isWanted && !isThere) broken.add("missing");
      if (!isWanted && isThere) broken.add(deleted < sealed ? "left behind" : "unasked");
    }
  }
  const calls = cart.calls.map(({ method, path }) => `${method} ${path}`);
  if (calls.length > new Set(calls).size || cart.attachments.some(({ received }) => received !== 1))
    broken.add("sent twice");
  if (!cart.checked_out) broken.add("not checked out");
  return [...broken];
};

/**
 * What the carrier must have after a PATCH of one attachment and a new request, and what it has: each as "request
 * attachment name". Of each parent that is what was confirmed before its last seal.
 */
export const afterRenameAndRequest = (model: Model, renamed: Place, seen: readonly Seen[], cart: Cart) => {
  const momentOf = (name: string) =>
    seen.findIndex(({ actor, call }) => actor === name && call.operation === "TransactWriteItems");
  const sealOf = (place: Place) => seen.findLastIndex((one) => isSealOf(model.parents[place], one));
  const isBeforeSeal = (moment: number, place: Place) => moment !== -1 && moment < sealOf(place);
  const added = momentOf("request");
  const late = seen[added]?.call.items.find(({ sk }) => sk.startsWith("REQUEST#"))?.sk.split("#")[1] ?? "";
  const requests = isBeforeSeal(added, "order") ? [...model.requests, late] : model.requests;
  const expected = places.flatMap((place) => {
    const { id } = model.attached[place] ?? {};
    const name = place === renamed && isBeforeSeal(momentOf("rename"), place) ? "Renamed" : "LOA";
    const under = place === "order" ? requests : [model.parents[place].id];
    return id ? under.map((request) => `${request} ${id} ${name}`) : [];
  });
  const held = cart.attachments.map((one) => `${one.request_id} ${one.attachment_id} ${one.name}`);
  return { expected: expected.sort(), held: held.sort() };
};
