import * as z from "zod/mini";
import { Actor, WrittenEvent } from "../../shared/history/event.ts";
import type { NamedSchema } from "../../shared/route.ts";
import { named } from "../../shared/schema/documents.ts";

const [apiKeyActor, operatorActor, checkoutActor] = Actor.def.options;
const type = "The type.";

export const EventDelivery = z.object({
  version: z.string(),
  id: z.string(),
  "detail-type": z.string(),
  source: z.string(),
  account: z.string(),
  time: z.iso.datetime(),
  region: z.string(),
  resources: z.array(z.string()),
  detail: WrittenEvent,
});

export const eventSchemas: readonly NamedSchema[] = [
  {
    name: "Actor",
    schema: Actor,
    description:
      "Who made the change: an API key and the user that it impersonates, an operator (a principal of IAM), or a run of the checkout.",
  },
  named("ApiKeyActor", apiKeyActor, {
    type,
    id: "The id of the API key.",
    user: "The user that the key impersonates.",
  }),
  named("OperatorActor", operatorActor, {
    type,
    id: "The ARN of the principal of IAM, or `local` on one machine.",
    on_behalf_of: "For whom the operator made the change, in the operator's words.",
  }),
  named("CheckoutActor", checkoutActor, { type, id: "The run of the checkout." }),
  named("ChangeEventResource", WrittenEvent.shape.resource, {
    type,
    id: "The id of the resource.",
    version:
      "Counts the changes of an attachment, a switch (it is the version in their `ETag`), an account, a user or an API key; null for anything else. The greater one is newer; a deletion has that of the last change.",
  }),
  named("ChangeEventParent", WrittenEvent.shape.parent.def.innerType, {
    type,
    id: "The id of the order or the request.",
  }),
  named("ChangeEventFile", WrittenEvent.shape.file.def.innerType, {
    bytes: "The size of the file.",
    sha256: "The SHA-256 of the file, as 64 hexadecimal digits.",
  }),
  named("ChangeEventAnswer", WrittenEvent.shape.answer.def.innerType, {
    status: "The status, or null for the result of a malware scan, and for a redirect.",
  }),
  named("ChangeEventChange", WrittenEvent.shape.changes.def.innerType.def.valueType, {
    from: "The value before the update.",
    to: "The value after it.",
    unchanged:
      "How many elements both lists have. If it is present, the lists were too long, and have only the elements that differ.",
    omitted: "How many of the elements that differ were left out, because there were too many.",
  }),
  named("ChangeEvent", WrittenEvent, {
    id: "A ULID. The same event can be delivered twice; its id tells.",
    type: "The resource's type, and what happened to it.",
    at: "When it happened: UTC, ISO 8601, with milliseconds.",
    account: "The account that owns the resource.",
    actor: "Who made the change.",
    resource: "What was changed.",
    parent: "The order or the request that an attachment, or a request, belongs to, or under which it was sent.",
    changed: "The names of the properties that an update has changed, or null.",
    changes:
      "The values before and after an update of an account, a user or an API key, by the names of the properties.",
    file: "The file of an attachment that was forwarded or deleted.",
    outcome: "How an operator has settled whether the carrier has checked the cart out.",
    answer: "The carrier's response to what was sent or withdrawn, without its text.",
    request_id: "The `X-Request-Id` of the response that confirmed the change, or null if there was none.",
  }),
  named("EventDelivery", EventDelivery, {
    version: "The version of EventBridge's envelope: 0.",
    id: "The id of this delivery. `detail.id` identifies the event.",
    "detail-type": "The event's type.",
    source: "Always `patchbay`.",
    account: "The AWS account of the deployment.",
    time: "When it happened, to the second.",
    region: "The AWS region of the deployment.",
    resources: "Always empty.",
    detail: "The event.",
  }),
];
