import { SendMessageCommand, SQSClient } from "@aws-sdk/client-sqs";
import { clientSettings } from "../deadline.ts";
import { env } from "../env.ts";
import type { DeadLetter } from "./publish.ts";

const client = new SQSClient(clientSettings(5_000));

/** Sends a message about an event that cannot be read to the dead-letter queue, which has an alarm. */
export const sendDeadLetter = async (letter: DeadLetter): Promise<void> => {
  await client.send(new SendMessageCommand({ QueueUrl: env.deadLettersUrl(), MessageBody: JSON.stringify(letter) }));
};
