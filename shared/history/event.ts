import * as z from "zod/mini";

/** The actions that events record, by the type of the resource. */
export const actions = {
  request_attachment: ["created", "updated", "deleted", "forwarded", "refused", "withdrawn"],
  order_attachment: ["created", "updated", "deleted", "forwarded", "refused", "withdrawn"],
  attachment: ["downloaded"],
  switch: ["created", "updated", "deleted"],
  order: ["created", "checked_out", "checkout_failed", "settled", "resend_requested", "acknowledged"],
  request: ["created"],
  account: ["created", "updated", "exported", "erased"],
  user: ["created", "updated"],
  api_key: ["created", "updated"],
} as const;

type TypeOf<R extends keyof typeof actions> = `${R}.${(typeof actions)[R][number]}`;
export type EventType = { readonly [R in keyof typeof actions]: TypeOf<R> }[keyof typeof actions];

/**
 * Who changed something. This is an API key and the user that it impersonates, an operator (a principal of IAM), or a checkout run.
 */
export const Actor = z.discriminatedUnion("type", [
  z.object({ type: z.literal("api_key"), id: z.string(), user: z.string() }),
  z.object({ type: z.literal("operator"), id: z.string(), on_behalf_of: z.optional(z.string()) }),
  z.object({ type: z.literal("checkout"), id: z.string() }),
]);
export type Actor = z.infer<typeof Actor>;

const ref = { type: z.string(), id: z.string() };

/** `status` is null for the result of a malware scan. */
const EventAnswer = z.object({ status: z.nullable(z.int()) });

/** The value of a property before and after an update. `record.ts` shortens long lists. */
const EventChange = z.object({
  from: z.unknown(),
  to: z.unknown(),
  unchanged: z.optional(z.int()),
  omitted: z.optional(z.int()),
});
export type EventChange = z.infer<typeof EventChange>;

/**
 * One confirmed change, as it is published. It contains ids and names of properties. Its only values are a file's size and hash,
 * the status of the carrier's response, a settled outcome, counts, and what operators change in accounts, users and API keys. So
 * nothing in it is confidential. Another version may have written it, so its type and its actor's type can be unknown.
 */
export const Event = z.object({
  /** A ULID. An event can arrive twice, so drop any event whose id you have processed. */
  id: z.string(),
  type: z.string(),
  at: z.string(),
  account: z.string(),
  actor: z.looseObject({ ...ref, on_behalf_of: z.optional(z.string()) }),
  /**
   * `version` counts the resource's changes. It is null if the resource has no version. A higher version is newer. A deletion keeps
   * the last version.
   */
  resource: z.object({ ...ref, version: z.nullable(z.int()) }),
  parent: z.nullable(z.object(ref)),
  /** The names of the properties that an update changed, or null for any other event. */
  changed: z.nullable(z.array(z.string())),
  changes: z.optional(z.record(z.string(), EventChange)),
  /** The change of an attachment came after a run had checked the order out, so the carrier does not get it. */
  late: z.optional(z.literal(true)),
  file: z.optional(z.object({ bytes: z.int(), sha256: z.string() })),
  answer: z.optional(EventAnswer),
  /** The outcome of a cart's checkout, as an operator has settled it. */
  outcome: z.optional(z.enum(["checked_out", "open"])),
  /** Why a checkout run failed: by a refusal of the carrier or the malware scan, or by anything else. */
  failure: z.optional(z.enum(["refused", "fault"])),
  /** What was erased with an account, by kind. */
  numbers: z.optional(z.record(z.string(), z.int())),
  /** The `X-Request-Id` of the response that confirmed the change, or null if there was none. */
  request_id: z.nullable(z.string()),
});
export type Event = z.infer<typeof Event>;

/** An event in the table. It also contains texts of the carrier and of the customer, which are for operators only. */
export const StoredEvent = z.extend(Event, {
  answer: z.optional(z.extend(EventAnswer, { text: z.string() })),
  /** The switch's name, or the attachment's name and filename as sent to the carrier. */
  name: z.optional(z.string()),
  filename: z.optional(z.string()),
  /** Why a checkout run failed or was settled, or late changes were acknowledged, what is to be sent again, the changes that came too late for the carrier, or the action that it refused. */
  reason: z.optional(z.string()),
});
export type StoredEvent = z.infer<typeof StoredEvent>;

/** An event as this version publishes it. */
export const WrittenEvent = z.extend(Event, { actor: Actor });
export type WrittenEvent = z.infer<typeof WrittenEvent>;
