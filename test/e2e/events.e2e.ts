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
import { type Customer, newCustomer } from "./customer.ts";

const Delivery = z.looseObject({
  source: z.literal("patchbay"),
  "detail-type": z.string(),
  detail: z.looseObject({ id: z.string(), type: z.string(), resource: z.looseObject({ id: z.string() }) }),
});
type Delivery = z.infer<typeof Delivery>;

/** A queue behind a rule on the deployment's bus, as in the README. Stays in the deployment, like the customers. */
const subscribe = async (EventBusName: string): Promise<() => Promise<Delivery[]>> => {
  const [sqs, eventBridge] = [new SQSClient(), new EventBridgeClient()];
  const { QueueUrl } = await sqs.send(new CreateQueueCommand({ QueueName: `${EventBusName}-e2e-${Date.now()}` }));
  const { Attributes } = await sqs.send(new GetQueueAttributesCommand({ QueueUrl, AttributeNames: ["QueueArn"] }));
  const Arn = Attributes?.QueueArn ?? "";
  const Rule = "e2e";
  const EventPattern = JSON.stringify({ source: ["patchbay"] });
  const { RuleArn } = await eventBridge.send(new PutRuleCommand({ Name: Rule, EventBusName, EventPattern }));
  const Policy = JSON.stringify({
    Version: "2012-10-17",
    Statement: [
      {
        Effect: "Allow",
        Principal: { Service: "events.amazonaws.com" },
        Action: "sqs:SendMessage",
        Resource: Arn,
        Condition: { ArnEquals: { "aws:SourceArn": RuleArn } },
      },
    ],
  });
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
let customer: Customer;
let read: () => Promise<Delivery[]>;
beforeAll(async () => {
  read = eventsUrl ? follow(eventsUrl) : await subscribe(eventBus);
  customer = await newCustomer();
});

describe("the bus", () => {
  it("has an event for each thing that was created", async () => {
    const created = [
      ["account.created", customer.id("accounts", "acme")],
      ["account.created", customer.id("accounts", "east")],
      ["user.created", customer.id("users", "ops")],
      ["api_key.created", customer.id("keys", "acme")],
      ["order.created", customer.id("orders", "acme")],
      ["request.created", customer.id("requests", "acme")],
    ];
    await vi.waitFor(
      async () => {
        const events = new Map((await read()).map(({ detail, ...rest }) => [detail.id, { detail, ...rest }]));
        const found = [...events.values()].map((event) => [event["detail-type"], event.detail.resource.id]);
        expect(found).toEqual(expect.arrayContaining(created));
        for (const [type, id] of created)
          expect(found.filter((each) => each[0] === type && each[1] === id)).toHaveLength(1);
      },
      { timeout: 60_000, interval: 500 },
    );
  });
});
