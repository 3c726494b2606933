import type { AttributeValue } from "@aws-sdk/client-dynamodb";
import { EventBridgeClient, PutEventsCommand } from "@aws-sdk/client-eventbridge";
import { unmarshall } from "@aws-sdk/util-dynamodb";
import * as z from "zod/mini";
import { clientSettings } from "../deadline.ts";
import { env } from "../env.ts";
import { log } from "../log.ts";
import { Event } from "./event.ts";

/** A batch of the table's stream, as Lambda passes it. */
const Batch = z.object({
  Records: z.array(
    z.object({
      dynamodb: z.object({ SequenceNumber: z.string(), NewImage: z.record(z.string(), z.custom<AttributeValue>()) }),
    }),
  ),
});

/** The maximum of PutEvents: https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_PutEvents.html */
const perCall = 10;

let client: EventBridgeClient | undefined;

const eventBridge = () => {
  client ??= new EventBridgeClient(clientSettings(5_000));
  return client;
};

const entryOf = (image: Readonly<Record<string, AttributeValue>>) => {
  const event = z.parse(Event, unmarshall(image));
  const [DetailType, Detail, Time] = [event.type, JSON.stringify(event), new Date(event.at)];
  return { EventBusName: env.eventBusName(), Source: "patchbay", DetailType, Detail, Time };
};

/**
 * Puts the new events of a batch on the bus, ten at a time. Returns those of the first ten that the bus has not accepted. Lambda
 * tries again from the first of them on, so later ones are not sent now, and some that the bus has accepted are sent twice.
 * https://docs.aws.amazon.com/lambda/latest/dg/services-ddb-batchfailurereporting.html
 */
export const publish = async (batch: unknown) => {
  const records = z.parse(Batch, batch).Records.map(({ dynamodb }) => dynamodb);
  let published = 0;
  for (let start = 0; start < records.length; start += perCall) {
    const sent = records.slice(start, start + perCall);
    const command = new PutEventsCommand({ Entries: sent.map(({ NewImage }) => entryOf(NewImage)) });
    const { Entries = [] } = await eventBridge().send(command);
    const refused = sent.filter((_, index) => !Entries[index]?.EventId);
    published += sent.length - refused.length;
    if (refused.length === 0) continue;
    const codes = [...new Set(Entries.flatMap(({ ErrorCode }) => ErrorCode ?? []))];
    log.error("EVENTS_REFUSED", { records: records.length, published, refused: refused.length, codes });
    return { batchItemFailures: refused.map(({ SequenceNumber }) => ({ itemIdentifier: SequenceNumber })) };
  }
  log.info("events published", { records: records.length, published });
  return { batchItemFailures: [] };
};
