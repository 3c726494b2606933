import { setTimeout as sleep } from "node:timers/promises";
import { DynamoDB } from "@aws-sdk/client-dynamodb";
import { DynamoDBStreams, type _Record as StreamRecord } from "@aws-sdk/client-dynamodb-streams";
import * as z from "zod/mini";
import { env } from "../../shared/env.ts";
import { eventPrefix } from "../../shared/table/keys.ts";

/** Reads the table's stream in batches of new events, as Lambda does on AWS. */

export const Checkpoint = z.object({ stream: z.string(), shard: z.string(), sequence: z.string() });
type Checkpoint = z.infer<typeof Checkpoint>;

/** How often the end of a stream is read, in milliseconds. */
const pollMs = 100;

const client = () => new DynamoDBStreams({ endpoint: process.env.AWS_ENDPOINT_URL_DYNAMODB ?? "" });

/** Returns the ARN of the table's stream, or undefined if the table has none, or its endpoint has no streams. */
export const tableStream = async (): Promise<string | undefined> => {
  const { Table } = await new DynamoDB().describeTable({ TableName: env.tableName() });
  const StreamArn = Table?.LatestStreamArn;
  if (!StreamArn) return undefined;
  const readable = client().describeStream({ StreamArn });
  return readable.then(
    () => StreamArn,
    () => undefined,
  );
};

export type Follower = {
  readonly stream: string;
  readonly from: Checkpoint | undefined;
  /** The maximum number of records in a batch. */
  readonly limit: number;
  readonly deliver: (events: StreamRecord[], signal: AbortSignal) => Promise<void>;
  readonly onDelivered: (reached: Checkpoint) => void;
  /** Called once for each new error. */
  readonly warn: (message: string) => void;
};

/** Reads a stream from a checkpoint, or from its beginning. After an error, an event can be delivered twice, but none is lost. */
export const followStream = ({ stream, from, limit, deliver, onDelivered, warn }: Follower) => {
  const streams = client();
  const stopping = new AbortController();
  const { promise: caughtUp, resolve: catchUp } = Promise.withResolvers<void>();
  let reached = from?.stream === stream ? from : undefined;

  const iteratorOf = async (shard: string) => {
    const position = reached?.shard === shard ? reached.sequence : undefined;
    const start = position
      ? { ShardIteratorType: "AFTER_SEQUENCE_NUMBER" as const, SequenceNumber: position }
      : { ShardIteratorType: "TRIM_HORIZON" as const };
    return (await streams.getShardIterator({ StreamArn: stream, ShardId: shard, ...start })).ShardIterator;
  };

  /** Reads a shard until it is closed. The last shard of a stream is open. */
  const readShard = async (shard: string) => {
    let iterator = await iteratorOf(shard);
    while (iterator) {
      const { Records = [], NextShardIterator } = await streams.getRecords({ ShardIterator: iterator, Limit: limit });
      const fresh = Records.filter(
        ({ eventName, dynamodb }) => eventName === "INSERT" && dynamodb?.Keys?.sk?.S?.startsWith(eventPrefix),
      );
      if (fresh.length > 0) await deliver(fresh, stopping.signal);
      const sequence = Records.at(-1)?.dynamodb?.SequenceNumber;
      if (sequence) reached = { stream, shard, sequence };
      if (reached && fresh.length > 0) onDelivered(reached);
      iterator = NextShardIterator;
      if (Records.length < limit) catchUp();
      if (Records.length === 0) await sleep(pollMs, undefined, stopping);
    }
  };

  const readAll = async () => {
    const { StreamDescription } = await streams.describeStream({ StreamArn: stream });
    const shards = (StreamDescription?.Shards ?? []).flatMap(({ ShardId = [] }) => ShardId);
    for (const shard of shards.slice(Math.max(0, shards.indexOf(reached?.shard ?? "")))) await readShard(shard);
  };

  const follow = async () => {
    let reported = "";
    while (!stopping.signal.aborted) {
      await readAll().catch((error: unknown) => {
        const reason = stopping.signal.aborted ? reported : String(error);
        if (reason !== reported) warn(`Events are late, and will be read again: ${reason}`);
        reported = reason;
      });
      catchUp();
      await sleep(pollMs, undefined, stopping).catch(() => {});
    }
  };
  const done = follow();
  return {
    /** Resolves at the first end of the stream, or if the stream cannot be read. */
    caughtUp,
    stop: async () => {
      stopping.abort();
      await done;
    },
  };
};
