import { Duration } from "aws-cdk-lib";
import { Queue, QueueEncryption } from "aws-cdk-lib/aws-sqs";
import type { Construct } from "constructs";
import { acknowledge } from "./acknowledge.ts";

/** Creates an encrypted queue for events that could not be handled. It requires TLS and keeps them for two weeks. */
export const deadLetterQueue = (scope: Construct, id: string): Queue => {
  // With the stack's key, each service that sends to the queue would need a grant in the key's policy.
  const encryption = QueueEncryption.SQS_MANAGED;
  const queue = new Queue(scope, id, { encryption, enforceSSL: true, retentionPeriod: Duration.days(14) });
  acknowledge(queue, { "AwsSolutions-SQS3": "This is a queue of dead letters." });
  return queue;
};
