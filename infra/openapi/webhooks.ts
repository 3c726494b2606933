import type * as z from "zod/mini";
import { actions, type WrittenEvent } from "../../shared/history/event.ts";
import { EventDelivery } from "./event-schemas.ts";
import { pascal } from "./names.ts";
import type { Json, Schemas } from "./schemas.ts";

/** The webhooks of the document. They are the requests that an API destination of EventBridge sends, by type of event. */

const summaries = {
  created: "was created",
  updated: "was changed",
  deleted: "was deleted",
  forwarded: "was sent to the carrier",
  refused: "was rejected by the carrier",
  withdrawn: "was removed from the carrier",
  downloaded: "was downloaded",
  exported: "was exported, with all accounts below it, by an operator",
  erased: "was erased, with all accounts below it, by an operator",
  checked_out: "was checked out",
  checkout_failed: "could not be checked out",
  settled: "with an unknown checkout outcome was settled by an operator",
  resend_requested: "is to be sent to the carrier again, as an operator has requested",
  acknowledged: "was acknowledged by an operator: changes of its attachments had come after its checkout",
} as const;

const [id, order, request] = ["01K9ZQ4T7M3C8XW5R2BN6HJDEF", "01K9ZQ4T7M3C8XW5R2BN6HJDEG", "01K9ZQ4T7M3C8XW5R2BN6HJDEH"];
const file = { bytes: 48_213, sha256: "3f0c8e5bb7d1a9e2c64f0b1d7a58e9c3b2d4f6a8091c3e5d7f9b1a3c5e7d9f0b" };

const parentOf = (resource: string, action: string) => {
  if (resource === "order_attachment" && ["created", "updated", "deleted"].includes(action))
    return { type: "order", id: order };
  if (resource === "request") return { type: "order", id: order };
  return resource.endsWith("attachment") ? { type: "request", id: request } : null;
};

const actorOf = (resource: string, action: string): WrittenEvent["actor"] => {
  if (["forwarded", "refused", "withdrawn", "checked_out", "checkout_failed"].includes(action))
    return { type: "checkout", id: `checkout-${order}-1` };
  return resource === "switch" || resource.endsWith("_attachment")
    ? { type: "api_key", id: "01K9ZQ4T7M3C8XW5R2BN6HJDEK", user: "01K9ZQ4T7M3C8XW5R2BN6HJDEN" }
    : { type: "operator", id: "arn:aws:sts::123456789012:assumed-role/operator/anna" };
};

/** Example changes of an account, a user and an API key. The events of other resources have no `changes`. */
const changesOf: Readonly<Record<string, WrittenEvent["changes"]>> = {
  account: { name: { from: "Acme", to: "Acme Ltd" } },
  user: { disabled: { from: false, to: true } },
  api_key: { label: { from: null, to: "Portal" } },
};

/** The statuses of the carrier's responses, by action. */
const statuses: Readonly<Record<string, number>> = { forwarded: 201, refused: 422, withdrawn: 204 };

const exampleOf = (resource: string, action: string): z.infer<typeof EventDelivery> => {
  const type = `${resource}.${action}`;
  const actor = actorOf(resource, action);
  const changes = action === "updated" ? changesOf[resource] : undefined;
  const status = statuses[action];
  const hasVersion = resource !== "order" && resource !== "request";
  return {
    version: "0",
    id: "6a7e8feb-b491-4cf7-a9f1-bf3703467718",
    "detail-type": type,
    source: "patchbay",
    account: "123456789012",
    time: "2026-11-22T09:30:00Z",
    region: "eu-central-1",
    resources: [],
    detail: {
      id: "01K9ZQ4T7M3C8XW5R2BN6HJDEE",
      type,
      at: "2026-11-22T09:30:00.000Z",
      account: "01K9ZQ4T7M3C8XW5R2BN6HJDEA",
      actor,
      resource: { type: resource, id, version: hasVersion ? (action === "created" ? 1 : 2) : null },
      parent: parentOf(resource, action),
      changed: action === "updated" ? Object.keys(changes ?? { name: "" }) : null,
      ...(changes && { changes }),
      ...(resource.endsWith("_attachment") && ["forwarded", "deleted"].includes(action) && { file }),
      ...(status && { answer: { status } }),
      ...(action === "settled" && { outcome: "open" }),
      ...(action === "checkout_failed" && { failure: "refused" }),
      ...(action === "erased" && { numbers: { accounts: 1, orders: 3, requests: 5, attachments: 12 } }),
      request_id: actor.type === "api_key" ? "3f0c7a52-7f0e-4c53-9f3a-2f1c1f6d6f10" : null,
    },
  };
};

/** One webhook for each type of event. All have the same schema. */
export const webhooksOf = (schemas: Schemas): Json => {
  const schema = schemas.response(EventDelivery);
  const types = Object.entries(actions).flatMap(([resource, all]) => all.map((action) => [resource, action] as const));
  const webhooks = types.map(([resource, action]) => {
    const type = `${resource}.${action}`;
    const noun = resource.replace("api_key", "API key").replaceAll("_", " ");
    const webhook = {
      operationId: `on${pascal(resource)}${pascal(action)}`,
      summary: `${/^[aoA]/.test(noun) ? "An" : "A"} ${noun} ${summaries[action]}`,
      description: `The event \`${type}\`.`,
      security: [],
      // Makes openapi-generator omit the webhook. It would generate a call, which does not compile in Python.
      "x-internal": true,
      requestBody: {
        required: true,
        content: { "application/json": { schema, examples: { event: { value: exampleOf(resource, action) } } } },
      },
      responses: {
        "2XX": {
          description: 'The event was received. "Events" above states after which other responses it is sent again.',
        },
      },
    };
    return [type, { post: webhook }] as const;
  });
  return Object.fromEntries(webhooks);
};
