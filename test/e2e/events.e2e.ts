import { EventBridgeClient, PutRuleCommand, PutTargetsCommand } from "@aws-sdk/client-eventbridge";
import {
  CreateQueueCommand,
  DeleteMessageCommand,
  GetQueueAttributesCommand,
  ReceiveMessageCommand,
  SetQueueAttributesCommand,
  SQSClient,
} from "@aws-sdk/client-sqs";
import { beforeAll, describe, expect, inject, it, vi } from "vitest";
import * as z from "zod/mini";
import { Event } from "../../shared/history/event.ts";
import { upload } from "../support/fixtures/attachments.ts";
import { newSwitch, patch, switchesPath } from "../support/fixtures/switches.ts";
import { admin } from "../support/processes/admin-cli.ts";
import { call } from "../support/requests/client.ts";
import { type Customer, newCustomer } from "./customer.ts";

const Delivery = z.looseObject({
  source: z.literal("patchbay"),
  "detail-type": z.string(),
  detail: Event,
});
type Delivery = z.infer<typeof Delivery>;

/** Creates a queue for a rule on the deployment's bus, as in docs/systems.md. Like the customers, it stays in the deployment. */
const subscribe = async (EventBusName: string): Promise<() => Promise<Delivery[]>> => {
  const [sqs, eventBridge] = [new SQSClient(), new EventBridgeClient()];
  const { QueueUrl } = await sqs.send(new CreateQueueCommand({ QueueName: `${EventBusName}-e2e-${Date.now()}` }));
  const { Attributes } = await sqs.send(new GetQueueAttributesCommand({ QueueUrl, AttributeNames: ["QueueArn"] }));
  const Arn = Attributes?.QueueArn ?? "";
  const Rule = "e2e";
  const EventPattern = JSON.stringify({ source: ["patchbay"] });
  const { RuleArn } = await eventBridge.send(new PutRuleCommand({ Name: Rule, EventBusName, EventPattern }));
  const statement = {
    Effect: "Allow",
    Principal: { Service: "events.amazonaws.com" },
    Action: "sqs:SendMessage",
    Resource: Arn,
    Condition: { ArnEquals: { "aws:SourceArn": RuleArn } },
  };
  const Policy = JSON.stringify({ Version: "2012-10-17", Statement: [statement] });
  await sqs.send(new SetQueueAttributesCommand({ QueueUrl, Attributes: { Policy } }));
  await eventBridge.send(new PutTargetsCommand({ EventBusName, Rule, Targets: [{ Id: "queue", Arn }] }));
  const received: Delivery[] = [];
  return async () => {
    const { Messages = [] } = await sqs.send(new ReceiveMessageCommand({ QueueUrl, MaxNumberOfMessages: 10 }));
    for (const { Body = "", ReceiptHandle } of Messages) {
      received.push(z.parse(Delivery, JSON.parse(Body)));
      await sqs.send(new DeleteMessageCommand({ QueueUrl, ReceiptHandle }));
    }
    return received;
  };
};

/** The local stack serves its events itself. */
const follow = (url: string) => async (): Promise<Delivery[]> =>
  z.parse(z.object({ events: z.array(Delivery) }), await (await fetch(url)).json()).events;

const { eventBus, eventsUrl } = inject("events");
const carrier = inject("carrierUrl");
let customer: Customer;
let read: () => Promise<Delivery[]>;
beforeAll(async () => {
  read = eventsUrl ? follow(eventsUrl) : await subscribe(eventBus);
  customer = await newCustomer();
});

/** The events of one resource so far, each once, as "type version" with their actor and parent. */
const eventsOf = async (id: string) => {
  const events = new Map((await read()).map(({ detail }) => [detail.id, detail]));
  const own = [...events.values()].filter(({ resource }) => resource.id === id);
  return own.map(({ type, resource, actor, parent }) =>
    [type, resource.version, actor.type, parent?.id].filter(Boolean).join(" "),
  );
};

/** Waits until a resource has these events and no others. */
const expectEvents = (id: string, events: readonly string[]) =>
  vi.waitFor(async () => expect((await eventsOf(id)).sort()).toEqual([...events].sort()), {
    timeout: 60_000,
    interval: 500,
  });

describe("the bus", () => {
  it("has one event for each thing that an operator created", async () => {
    for (const [type, id] of [
      ["account", customer.id("accounts", "east")],
      ["user", customer.id("users", "ops")],
      ["api_key", customer.id("keys", "acme")],
    ])
      await expectEvents(id ?? "", [`${type}.created 1 operator`]);
  });

  it("has one event for each change of a switch, and none for what changes nothing", async () => {
    const key = customer.key("acme");
    const { id } = await newSwitch(key, { name: "Main" });
    expect((await patch(key, id, { name: "Renamed" })).status).toBe(200);
    expect((await patch(key, id, { name: "Renamed" })).status).toBe(200);
    expect((await patch(key, id, { name: "" })).status).toBe(422);
    expect((await call("DELETE", `${switchesPath}/${id}`, { key })).status).toBe(200);
    await expectEvents(id, ["switch.created 1 api_key", "switch.updated 2 api_key", "switch.deleted 2 api_key"]);
  });

  it("has what the carrier did with an attachment, and how each checkout of its order ended", async () => {
    const order = customer.id("orders", "acme");
    const [first, second] = [customer.id("requests", "acme"), customer.id("requests", "second")];
    const { id } = await upload(customer.attachments("order", "acme"), customer.key("acme"));
    const fault = { method: "POST", path: order, action: "status", status: 422, times: 1 };
    await fetch(`${carrier}/faults`, { method: "POST", body: JSON.stringify(fault) });
    expect((await admin(["order", "checkout", order, "--wait"])).code).toBe(1);
    expect((await admin(["order", "checkout", order, "--wait"])).code).toBe(0);
    await expectEvents(id, [
      `order_attachment.created 1 api_key ${order}`,
      `order_attachment.forwarded 1 checkout ${first}`,
      `order_attachment.forwarded 1 checkout ${second}`,
    ]);
    const ends = ["order.checkout_failed checkout", "order.checked_out checkout"];
    await expectEvents(order, ["order.created operator", ...ends]);
  });
});
