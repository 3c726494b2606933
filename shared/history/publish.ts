import type { AttributeValue } from "@aws-sdk/client-dynamodb";
import { EventBridgeClient, PutEventsCommand } from "@aws-sdk/client-eventbridge";
import { unmarshall } from "@aws-sdk/util-dynamodb";
import * as z from "zod/mini";
import { clientSettings } from "../deadline.ts";
import { env } from "../env.ts";
import { log } from "../log.ts";
import { parseItem } from "../table/read.ts";
import { Event } from "./event.ts";

const Attributes = z.record(z.string(), z.custom<AttributeValue>());

const StreamRecord = z.object({
  SequenceNumber: z.string(),
  Keys: z.optional(Attributes),
  NewImage: z.optional(Attributes),
});
type StreamRecord = z.infer<typeof StreamRecord>;

const Batch = z.object({ Records: z.array(z.object({ dynamodb: StreamRecord })) });

/** EventBridge rejects a whole call if one type is too long, and the SDK if one time is invalid. */
const Publishable = z.extend(Event, {
  type: z.string().check(z.minLength(1), z.maxLength(128)),
  at: z.string().check(z.refine((at) => !Number.isNaN(Date.parse(at)))),
});

/** An event that cannot be read, with its key in the table, its place in the stream, and the reason. */
export type DeadLetter = {
  readonly reason: string;
  readonly key: { readonly pk: string | undefined; readonly sk: string | undefined };
  readonly sequence_number: string;
};

/** The maximum of PutEvents: https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_PutEvents.html */
const perCall = 10;

const client = new EventBridgeClient(clientSettings(5_000));

const entryOf = ({ NewImage = {} }: StreamRecord) => {
  const event = parseItem(Publishable, unmarshall(NewImage));
  const [DetailType, Detail, Time] = [event.type, JSON.stringify(event), new Date(event.at)];
  return { EventBusName: env.eventBusName(), Source: "patchbay", DetailType, Detail, Time };
};

/** A record has either an entry for the bus or a letter. */
type Judged = {
  readonly record: StreamRecord;
  readonly entry?: ReturnType<typeof entryOf>;
  readonly letter?: DeadLetter;
};

/** Reads one record by itself, so that an unreadable one stops no other. */
const judge = (record: StreamRecord): Judged => {
  try {
    return { record, entry: entryOf(record) };
  } catch (error) {
    const { pk, sk } = { ...record.NewImage, ...record.Keys };
    const reason = error instanceof Error ? error.message : String(error);
    return { record, letter: { reason, key: { pk: pk?.S, sk: sk?.S }, sequence_number: record.SequenceNumber } };
  }
};

/**
 * Puts the new events of a batch on the bus, ten at a time, and hands those that cannot be read to `bury`. Stops at the first ten
 * of which the bus refuses some, and returns those. Lambda retries from the first of them on, so later events are not sent now, and
 * some accepted events are sent twice.
 * Source: https://docs.aws.amazon.com/lambda/latest/dg/services-ddb-batchfailurereporting.html
 */
export const publish = async (batch: unknown, bury: (letter: DeadLetter) => Promise<void> | void) => {
  const records = z.parse(Batch, batch).Records.map(({ dynamodb }) => judge(dynamodb));
  let published = 0;
  for (let start = 0; start < records.length; start += perCall) {
    const part = records.slice(start, start + perCall);
    const sent = part.filter(({ entry }) => entry);
    const { refused, codes } = await put(sent);
    published += sent.length - refused.length;
    if (refused.length > 0) {
      log.error("EVENTS_REFUSED", { records: records.length, published, refused: refused.length, codes });
      return { batchItemFailures: refused.map(({ record }) => ({ itemIdentifier: record.SequenceNumber })) };
    }
    for (const letter of part.flatMap((one) => one.letter ?? [])) {
      log.error("EVENT_UNREADABLE", letter);
      await bury(letter);
    }
  }
  log.info("events published", { records: records.length, published });
  return { batchItemFailures: [] };
};

const put = async (sent: readonly Judged[]) => {
  if (sent.length === 0) return { refused: [], codes: [] };
  const command = new PutEventsCommand({ Entries: sent.flatMap(({ entry }) => entry ?? []) });
  const { Entries = [] } = await client.send(command);
  const refused = sent.filter((_, index) => !Entries[index]?.EventId);
  return { refused, codes: [...new Set(Entries.flatMap(({ ErrorCode }) => ErrorCode ?? []))] };
};
