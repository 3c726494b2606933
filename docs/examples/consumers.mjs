import { SecretValue } from "aws-cdk-lib";
import { ApiDestination, Authorization, Connection, EventBus, Match, Rule } from "aws-cdk-lib/aws-events";
import { ApiDestination as ApiDestinationTarget, SnsTopic, SqsQueue } from "aws-cdk-lib/aws-events-targets";
import { Topic } from "aws-cdk-lib/aws-sns";
import { Queue } from "aws-cdk-lib/aws-sqs";

/** Three consumers of the events of docs/systems.md: a message router, a portal, and whoever is on call. */
export const addConsumers = (scope) => {
  const eventBus = EventBus.fromEventBusName(scope, "Patchbay", "Patchbay-production");
  const source = ["patchbay"];
  const dead = { deadLetterQueue: new Queue(scope, "Undelivered") };

  // A queue for a message router.
  const router = new SqsQueue(new Queue(scope, "Router"), dead);
  const switches = { source, detailType: Match.prefix("switch.") };
  new Rule(scope, "Switches", { eventBus, eventPattern: switches, targets: [router] });

  // A webhook of a portal.
  const token = SecretValue.secretsManager("portal-token");
  const connection = new Connection(scope, "Portal", { authorization: Authorization.apiKey("X-Token", token) });
  const webhook = new ApiDestination(scope, "Webhook", { connection, endpoint: "https://portal.example/patchbay" });
  const forwarded = { source, detailType: ["request_attachment.forwarded", "request_attachment.refused"] };
  new Rule(scope, "Forwarded", {
    eventBus,
    eventPattern: forwarded,
    targets: [new ApiDestinationTarget(webhook, dead)],
  });

  // A message for each failed checkout.
  const failed = { source, detailType: ["order.checkout_failed"] };
  new Rule(scope, "FailedCheckouts", {
    eventBus,
    eventPattern: failed,
    targets: [new SnsTopic(new Topic(scope, "OnCall"), dead)],
  });
};
