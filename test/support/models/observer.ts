import { keys, type ParentRef } from "../../../shared/table/keys.ts";
import { interceptTableCalls, type TableCall, type Update } from "../fault-proxy/table-proxy.ts";
import type { carrier } from "../servers/carrier.ts";
import { type Changes, type Model, type Place, places } from "./interleaving-order.ts";
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

/** An attachment of the model, and when it was confirmed, deleted and renamed; -1 is before the schedule. */
type Life = { readonly id: string; readonly place: Place; confirmed: number; deleted: number; renamed: number };

/**
 * The promises that a schedule broke. The carrier must have, once, all that was confirmed before the last seal of its parent, as
 * it was then, under each request that the order had at its own last seal; nothing else may be left behind there.
 */
export const brokenPromises = (
  model: Model,
  changes: Changes,
  observed: readonly ObservedCall[],
  cart: Cart,
  isFinal = false,
) => {
  const momentOf = (name: keyof Changes) => {
    const moment = observed.findIndex(({ actor, call }) => actor === name && call.operation === "TransactWriteItems");
    return moment === -1 ? Infinity : moment;
  };
  /** The id in the sort key of what an actor has created. */
  const createdBy = (name: keyof Changes, prefix: string) =>
    observed[momentOf(name)]?.call.items.find(({ sk }) => sk.startsWith(prefix))?.sk.split("#")[1] ?? "";
  /** A cart that is final was sealed by an earlier run, before all changes. */
  const sealOf = (place: Place) =>
    isFinal ? -0.5 : observed.findLastIndex((one) => isSealOf(model.parents[place], one));
  const lives: Life[] = places.flatMap((place) => {
    const { id } = model.attached[place] ?? {};
    const deleted = changes.delete === place ? momentOf("delete") : Infinity;
    const renamed = changes.rename === place ? momentOf("rename") : Infinity;
    return id ? [{ id, place, confirmed: -1, deleted, renamed }] : [];
  });
  if (changes.upload) {
    const id = createdBy("upload", "ATTACHMENT#");
    lives.push({ id, place: changes.upload, confirmed: momentOf("upload"), deleted: Infinity, renamed: Infinity });
  }
  const isAdded = momentOf("request") < sealOf("order");
  const requests = isAdded ? [...model.requests, createdBy("request", "REQUEST#")] : model.requests;
  const wanted = new Set(
    lives.flatMap(({ id, place, confirmed, deleted, renamed }) => {
      const sealed = sealOf(place);
      const name = renamed < sealed ? "Renamed" : "LOA";
      const under = place === "order" ? requests : [model.parents[place].id];
      return confirmed < sealed && deleted > sealed ? under.map((request) => `${request} ${id} ${name}`) : [];
    }),
  );
  const actual = new Set(cart.attachments.map((one) => `${one.request_id} ${one.attachment_id} ${one.name}`));
  // The key of a call that was not done is free.
  const done = cart.calls.filter(({ status }) => status === null || status < 300);
  const calls = done.map(({ method, path, idempotency_key }) => `${method} ${path} ${idempotency_key}`);
  const isRepeated = cart.attachments.some(({ name, received }) => received > (name === "Renamed" ? 2 : 1));
  return [
    ...([...wanted].every((each) => actual.has(each)) ? [] : (["missing"] as const)),
    ...([...actual].every((each) => wanted.has(each)) ? [] : (["left behind"] as const)),
    ...(isRepeated || calls.length > new Set(calls).size ? (["sent twice"] as const) : []),
    ...(cart.checked_out ? [] : (["not checked out"] as const)),
  ];
};
