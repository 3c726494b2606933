import * as z from "zod/mini";
import { mapped, newId } from "../schema/fields.ts";
import type { Write } from "../table/expressions.ts";
import { type Key, keys, lookupOf } from "../table/keys.ts";
import type { Actor, EventChange, EventType, StoredEvent, WrittenEvent } from "./event.ts";

export type Origin = {
  readonly now: Date;
  readonly actor: Actor;
  /** The `X-Request-Id` of the response, or null if there is none. */
  readonly request_id: string | null;
};

type Change = {
  readonly type: EventType;
  readonly account: string;
  readonly resource: WrittenEvent["resource"];
  readonly parent?: { readonly type: "order" | "request"; readonly id: string };
  readonly changed?: readonly string[] | undefined;
  readonly changes?: Changes | undefined;
  readonly late?: WrittenEvent["late"];
  readonly file?: WrittenEvent["file"];
  readonly outcome?: WrittenEvent["outcome"];
  readonly failure?: WrittenEvent["failure"] | null;
  readonly numbers?: WrittenEvent["numbers"];
  /** It is stored but not published, except for the status of the answer. */
  readonly evidence?: Pick<StoredEvent, "answer" | "name" | "filename" | "reason">;
};

export type Changes = Readonly<Record<string, { readonly from: unknown; readonly to: unknown }>>;

/** When what is recorded now expires, in seconds since 1970. This is after 400 days. */
export const expiryOf = (now: Date): number => Math.floor(now.getTime() / 1000) + 400 * 24 * 60 * 60;

// A call to EventBridge takes 256 KB and has up to ten events. Without its lists, an event has up to 8 KB.
// https://docs.aws.amazon.com/eventbridge/latest/userguide/calculate-putevents-entry-size.html
const maxListBytes = 16_384;

const bytesOf = (value: unknown) => Buffer.byteLength(JSON.stringify(value));

/** Returns the beginning of a list, up to half of the size that a change's lists may have. */
const beginningOf = (list: readonly unknown[]) => {
  let bytes = 0;
  return list.filter((one) => {
    bytes += bytesOf(one) + 1;
    return bytes < maxListBytes / 2;
  });
};

/**
 * Shortens long lists, such as a user's permissions, which can be 255 KB. Keeps only the elements that differ, as many as fit.
 * `unchanged` counts the elements in both lists. `omitted` counts the differing elements that are left out.
 */
const shortened = ({ from, to }: Changes[string]): EventChange => {
  if (!Array.isArray(from) || !Array.isArray(to) || bytesOf([from, to]) <= maxListBytes) return { from, to };
  const [before, after] = [new Set<unknown>(from), new Set<unknown>(to)];
  const [removed, added] = [[...before.difference(after)], [...after.difference(before)]];
  const part = { from: beginningOf(removed), to: beginningOf(added) };
  const omitted = removed.length + added.length - part.from.length - part.to.length;
  return { ...part, unchanged: before.size - removed.length, ...(omitted > 0 && { omitted }) };
};

/**
 * An attachment's events are stored with its order or request, and its downloads apart from them. Any other event is stored with
 * its resource.
 */
const keyOf = ({ type, resource, parent }: Change, id: string): Key => {
  const subject = parent && type !== "request.created" ? parent : resource;
  return type === "attachment.downloaded" ? keys.download(subject, id) : keys.event(subject, id);
};

/** Returns the write that records a change. It belongs in the transaction of the change, so that neither exists without the other. */
export const recordOf = (
  change: Change,
  { now, actor, request_id }: Origin,
): Extract<Write, { readonly put: unknown }> => {
  const { type, account, resource, parent = null, changes, late, file, outcome, failure, numbers, evidence } = change;
  const changed = changes ? Object.keys(changes) : change.changed;
  const event: WrittenEvent = {
    id: newId(now.getTime()),
    type,
    at: now.toISOString(),
    account,
    actor,
    resource,
    parent,
    changed: changed ? [...changed] : null,
    ...(changes && { changes: mapped(changes, shortened) }),
    ...(late && { late }),
    ...(file && { file }),
    ...(outcome && { outcome }),
    ...(failure && { failure }),
    ...(numbers && { numbers }),
    ...evidence,
    request_id,
  };
  const found = request_id !== null && lookupOf(request_id);
  return { put: { ...keyOf(change, event.id), ...event, ...found, expires_at: expiryOf(now) } };
};

/**
 * The latest change of an attachment that came after a run had checked its order out, so the carrier does not get it. It is listed
 * until an operator acknowledges it. `name` is the attachment's.
 */
export const LateChange = z.object({
  order: z.string(),
  id: z.string(),
  parent: z.object({ type: z.enum(["order", "request"]), id: z.string() }),
  name: z.string(),
  change: z.enum(["created", "updated", "deleted"]),
  at: z.string(),
});
export type LateChange = z.infer<typeof LateChange>;

/** Returns the write that lists a late change. It replaces an earlier one of the same attachment. */
export const listLateChange = (late: LateChange): Write => ({
  put: { ...keys.lateChange(late.order, late.id), ...late, expires_at: expiryOf(new Date(late.at)) },
});
