import { isDeepStrictEqual } from "node:util";
import { newId } from "../schema/fields.ts";
import type { Write } from "../table/expressions.ts";
import { type EventSubject, keys } from "../table/keys.ts";
import type { Actor, EventType, WrittenEvent } from "./event.ts";

/** Where a change comes from. Every function that changes something for somebody gets one. */
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
  readonly file?: WrittenEvent["file"];
};

const retentionDays = 400;

/** An attachment's events are kept with its order or request, any other with its resource. */
const subjectOf = ({ type, resource, parent }: Change): EventSubject =>
  parent && type !== "request.created" ? parent : resource;

/** Returns the write that records a change. It belongs in the transaction of the change: neither exists without the other. */
export const recordOf = (change: Change, { now, actor, request_id }: Origin): Write => {
  const { type, account, resource, parent = null, changed, file } = change;
  const event: WrittenEvent = {
    id: newId(now.getTime()),
    type,
    at: now.toISOString(),
    account,
    actor,
    resource,
    parent,
    changed: changed ? [...changed] : null,
    ...(file && { file }),
    request_id,
  };
  const expires_at = Math.floor(now.getTime() / 1000) + retentionDays * 24 * 60 * 60;
  return { put: { ...keys.event(subjectOf(change), event.id), ...event, expires_at } };
};

/** Returns the names of the properties that differ: what an update changed. */
export const changedProperties = (before: object, after: object): string[] => {
  const former = new Map<string, unknown>(Object.entries(before));
  return Object.entries(after).flatMap(([name, value]) => (isDeepStrictEqual(value, former.get(name)) ? [] : [name]));
};
