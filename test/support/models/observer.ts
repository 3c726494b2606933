import { keys, type ParentRef } from "../../../shared/table/keys.ts";
import { interceptTableCalls, type TableCall, type Update } from "../fault-proxy/table-proxy.ts";
import type { carrier } from "../servers/carrier.ts";
import { type Model, type Place, places } from "./interleaving-order.ts";
import { currentActor, waitForTurn } from "./schedules.ts";

/** Records the table calls of a schedule, and finds the promises that it broke. */

export type ObservedCall = { readonly actor: string; readonly call: TableCall };

/** Makes each call of an actor wait for its turn, and records it. */
export const observe = () => {
  const observed: ObservedCall[] = [];
  let rewrite: (call: TableCall) => void = () => {};
  const stop = interceptTableCalls(async (call, pass) => {
    const actor = currentActor();
    if (!actor) return pass();
    await waitForTurn(call.items.map(({ pk, sk }) => `${pk} ${sk}`));
    if (actor === "checkout") rewrite(call);
    const response = await pass();
    observed.push({ actor, call });
    return response;
  });
  return {
    stop,
    begin: () => {
      observed.length = 0;
    },
    /** Rewrites the checkout's calls from now on; without an argument, ends that. */
    rewriteCalls: (how: (call: TableCall) => void = () => {}) => {
      rewrite = how;
    },
    observed,
  };
};

const isSeal = ({ UpdateExpression }: Update) => UpdateExpression.startsWith("SET #seal");

const isSealOf = (parent: ParentRef, { actor, call }: ObservedCall) =>
  actor === "checkout" && call.updates.some((update) => isSeal(update) && update.Key.pk === keys.parent(parent).pk);

const rewriteUpdates = ({ input, rewrite }: TableCall, how: (update: Update) => Update) => {
  const items = input.TransactItems?.map((item) => (item.Update ? { Update: how(item.Update) } : item));
  if (items) rewrite({ TransactItems: items });
};

/** Removes the condition of each seal, so that it succeeds after any change of the parent. */
export const withoutSealCondition = (call: TableCall): void =>
  rewriteUpdates(call, (update) =>
    isSeal(update)
      ? { ...update, ConditionExpression: `${update.ConditionExpression} OR attribute_exists(pk)` }
      : update,
  );

/** Stores each receipt as pending instead of forwarded. */
export const withoutReceipts = (call: TableCall): void =>
  rewriteUpdates(call, (update) => {
    if (!update.Key.sk.startsWith("RECEIPT#")) return update;
    const values = Object.entries(update.ExpressionAttributeValues ?? {});
    const forgotten = values.map(([key, value]) => [key, value === "forwarded" ? "pending" : value]);
    return { ...update, ExpressionAttributeValues: Object.fromEntries(forgotten) };
  });

type Cart = Awaited<ReturnType<Awaited<ReturnType<typeof carrier>>["cart"]>>;
export type Changes = { readonly upload: Place; readonly delete: Place };

/** An attachment of the model, and when it was confirmed and deleted; -1 is before the schedule. */
type Life = { readonly id: string; readonly place: Place; readonly confirmed: number; readonly deleted: number };

const livesOf = ({ attached }: Model, changes: Changes, observed: readonly ObservedCall[]): Life[] => {
  const momentOf = (name: string) =>
    observed.findIndex(({ actor, call }) => actor === name && call.operation === "TransactWriteItems");
  const confirmed = momentOf("upload");
  const key = observed[confirmed]?.call.items.find(({ sk }) => sk.startsWith("ATTACHMENT#"));
  const uploaded = { id: key?.sk.split("#")[1] ?? "", place: changes.upload, confirmed, deleted: Infinity };
  const others = places.flatMap((place) => {
    const deleted = place === changes.delete ? momentOf("delete") : Infinity;
    const { id } = attached[place] ?? {};
    return id ? [{ id, place, confirmed: -1, deleted }] : [];
  });
  return [uploaded, ...others];
};

/** The promises that a schedule broke: an attachment was missing at the carrier, left behind, not wanted, or sent twice. */
export const brokenPromises = (model: Model, changes: Changes, observed: readonly ObservedCall[], cart: Cart) => {
  const actual = new Set(cart.attachments.map(({ request_id, attachment_id }) => `${request_id} ${attachment_id}`));
  const broken = new Set<"missing" | "left behind" | "unwanted" | "sent twice" | "not checked out">();
  for (const { id, place, confirmed, deleted } of livesOf(model, changes, observed)) {
    const sealed = observed.findLastIndex((one) => isSealOf(model.parents[place], one));
    for (const request of place === "order" ? model.requests : [model.parents[place].id]) {
      const isThere = actual.has(`${request} ${id}`);
      const isWanted = confirmed < sealed && deleted > sealed;
      if (isWanted && !isThere) broken.add("missing");
      if (!isWanted && isThere) broken.add(deleted < sealed ? "left behind" : "unwanted");
    }
  }
  const calls = cart.calls.map(({ method, path }) => `${method} ${path}`);
  if (calls.length > new Set(calls).size || cart.attachments.some(({ received }) => received !== 1))
    broken.add("sent twice");
  if (!cart.checked_out) broken.add("not checked out");
  return [...broken];
};

/**
 * The attachments that the carrier must have after a PATCH of one of them and a new request, and those that it has, each as
 * "request attachment name". It must have all that was confirmed before the last seal of the parent.
 */
export const afterRenameAndRequest = (model: Model, renamed: Place, observed: readonly ObservedCall[], cart: Cart) => {
  const momentOf = (name: string) =>
    observed.findIndex(({ actor, call }) => actor === name && call.operation === "TransactWriteItems");
  const sealOf = (place: Place) => observed.findLastIndex((one) => isSealOf(model.parents[place], one));
  const isBeforeSeal = (moment: number, place: Place) => moment !== -1 && moment < sealOf(place);
  const added = momentOf("request");
  const late = observed[added]?.call.items.find(({ sk }) => sk.startsWith("REQUEST#"))?.sk.split("#")[1] ?? "";
  const requests = isBeforeSeal(added, "order") ? [...model.requests, late] : model.requests;
  const expected = places.flatMap((place) => {
    const { id } = model.attached[place] ?? {};
    const name = place === renamed && isBeforeSeal(momentOf("rename"), place) ? "Renamed" : "LOA";
    const under = place === "order" ? requests : [model.parents[place].id];
    return id ? under.map((request) => `${request} ${id} ${name}`) : [];
  });
  const actual = cart.attachments.map((one) => `${one.request_id} ${one.attachment_id} ${one.name}`);
  return { expected: expected.sort(), actual: actual.sort() };
};
