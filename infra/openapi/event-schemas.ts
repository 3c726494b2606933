import * as z from "zod/mini";
import { Actor, WrittenEvent } from "../../shared/history/event.ts";
import type { NamedSchema } from "../../shared/route.ts";
import { named, stated } from "../../shared/schema/documents.ts";

const [apiKeyActor, operatorActor, checkoutActor] = Actor.def.options;
const type = "The type.";

const delivery = stated("EventDelivery", "An event as EventBridge delivers it.", {
  version: [z.string(), "The version of EventBridge's envelope: 0."],
  id: [z.string(), "The id of this delivery. `detail.id` identifies the event."],
  "detail-type": [z.string(), "The event's type."],
  source: [z.string(), "Always `patchbay`."],
  account: [z.string(), "The AWS account of the deployment."],
  time: [z.iso.datetime(), "The time of the change, to the second."],
  region: [z.string(), "The AWS region of the deployment."],
  resources: [z.array(z.string()), "Always empty."],
  detail: [WrittenEvent, "The event."],
});
export const EventDelivery = delivery.schema;

export const eventSchemas: readonly NamedSchema[] = [
  {
    name: "Actor",
    schema: Actor,
    description:
      "Who made the change: an API key and the user that it impersonates, an operator (an IAM principal), or a run of the checkout.",
  },
  named("ApiKeyActor", "An API key that made a change.", apiKeyActor, {
    type,
    id: "The id of the API key.",
    user: "The user that the key impersonates.",
  }),
  named("OperatorActor", "An operator that made a change.", operatorActor, {
    type,
    id: "The ARN of the IAM principal, or `local` on one machine.",
    on_behalf_of: "The person or system for whom the operator made the change, as the operator named it.",
  }),
  named("CheckoutActor", "A run of the checkout that made a change.", checkoutActor, {
    type,
    id: "The run of the checkout.",
  }),
  named("ChangeEventResource", "The resource that was changed.", WrittenEvent.shape.resource, {
    type,
    id: "The id of the resource.",
    version:
      "The version of an attachment or a switch (as in its `ETag`), an account, a user or an API key; otherwise null. A higher version is newer. A deletion keeps the last version.",
  }),
  named("ChangeEventParent", "What the changed resource belongs to.", WrittenEvent.shape.parent.def.innerType, {
    type,
    id: "The id of the order or the request.",
  }),
  named("ChangeEventFile", "The file of an attachment.", WrittenEvent.shape.file.def.innerType, {
    bytes: "The size of the file.",
    sha256: "The SHA-256 of the file, as 64 hexadecimal digits.",
  }),
  named("ChangeEventAnswer", "The carrier's response.", WrittenEvent.shape.answer.def.innerType, {
    status: "The status of the response, or null for the result of a malware scan.",
  }),
  named("ChangeEventChange", "The values of one property.", WrittenEvent.shape.changes.def.innerType.def.valueType, {
    from: "The value before the update.",
    to: "The value after it.",
    unchanged:
      "The number of elements that both lists share. If present, the lists were too long, and hold only elements that differ.",
    omitted: "The number of differing elements that are left out.",
  }),
  named("ChangeEvent", "A change that was confirmed to its caller.", WrittenEvent, {
    id: "A ULID. An event can arrive twice: drop any whose id you have processed.",
    type: "The type of the resource and of the change, such as `switch.created`.",
    at: "The time of the change: UTC, ISO 8601, with milliseconds.",
    account: "The account that owns the resource.",
    actor: "Who made the change.",
    resource: "The changed resource.",
    parent:
      "The order or the request to which the resource belongs or, for what the carrier received, the request under which it was sent. Otherwise null.",
    changed: "The names of the properties that an update changed, or null.",
    changes:
      "The values before and after an update of an account, a user or an API key, by the names of the properties.",
    late: "Present if an attachment was created, updated or deleted after a run had checked its order out: the carrier does not get this change.",
    file: "The file of an attachment that was forwarded or deleted.",
    outcome: "Whether the carrier has checked the cart out, as an operator recorded it.",
    failure: "Why a checkout failed: `refused` by the carrier or the malware scan, or `fault` for anything else.",
    numbers: "How much was erased with an account, by kind.",
    answer: "The carrier's response to the attachment or its withdrawal, without the text.",
    request_id: "The `X-Request-Id` of the response that confirmed the change, or null if there was none.",
  }),
  delivery,
];
