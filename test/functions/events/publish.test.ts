import { createHash } from "node:crypto";
import { createServer } from "node:http";
import { json } from "node:stream/consumers";
import { marshall } from "@aws-sdk/util-dynamodb";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import * as z from "zod/mini";
import { handler } from "../../../functions/events/publish.ts";
import { listen } from "../../../infra/local/listen.ts";
import type { Event } from "../../../shared/history/event.ts";
import { captureLogs } from "../../support/servers/captured-logs.ts";

const Call = z.object({
  Entries: z.array(
    z.object({ EventBusName: z.string(), Source: z.string(), DetailType: z.string(), Detail: z.string() }),
  ),
});

let calls: z.infer<typeof Call>["Entries"][];
/** The ids of the events that the bus refuses. */
let refused: string[];
let logs: ReturnType<typeof captureLogs>;
let bus: Awaited<ReturnType<typeof listen>>;
/** The messages in the dead-letter queue, which responds with `queueStatus`. */
let letters: unknown[];
let queueStatus: number;
beforeEach(async () => {
  [calls, refused, letters, queueStatus] = [[], [], [], 200];
  const server = createServer(async (request, response) => {
    const body = await json(request);
    if (request.headers["x-amz-target"] === "AmazonSQS.SendMessage") {
      const { MessageBody } = z.parse(z.object({ MessageBody: z.string() }), body);
      if (queueStatus === 200) letters.push(JSON.parse(MessageBody));
      const MD5OfMessageBody = createHash("md5").update(MessageBody).digest("hex");
      response.writeHead(queueStatus).end(JSON.stringify({ MessageId: "1", MD5OfMessageBody }));
      return;
    }
    const { Entries } = z.parse(Call, body);
    calls.push(Entries);
    const results = Entries.map(({ Detail }) =>
      refused.some((id) => Detail.includes(`"id":"${id}"`)) ? { ErrorCode: "ThrottlingException" } : { EventId: "1" },
    );
    const FailedEntryCount = results.filter((each) => "ErrorCode" in each).length;
    response.end(JSON.stringify({ FailedEntryCount, Entries: results }));
  });
  bus = await listen(server);
  vi.stubEnv("AWS_ENDPOINT_URL_EVENTBRIDGE", bus.url).stubEnv("EVENT_BUS_NAME", "a-bus");
  vi.stubEnv("AWS_ENDPOINT_URL_SQS", bus.url).stubEnv("DEAD_LETTERS_URL", `${bus.url}/000000000000/dead-letters`);
  logs = captureLogs();
});
afterEach(async () => {
  logs.stop();
  vi.unstubAllEnvs();
  await bus.close();
});

const answer = { status: 422 };

const event = (index: number): Event => ({
  id: `event-${index}-`,
  type: "switch.updated",
  at: "2026-11-22T09:30:00.000Z",
  account: "account",
  actor: { type: "operator", id: "local" },
  resource: { type: "switch", id: `switch-${index}`, version: 2 },
  parent: null,
  changed: ["name"],
  answer,
  request_id: null,
});

const evidence = { answer: { ...answer, text: "secret" }, name: "secret", filename: "secret", reason: "secret" };

/** A batch of the stream. An item also has its keys, its expiry, and texts that only operators may read. */
const batch = (count: number) => ({
  Records: Array.from({ length: count }, (_, index) => ({
    eventName: "INSERT",
    dynamodb: {
      SequenceNumber: `${100 + index}`,
      NewImage: marshall({ pk: "SWITCH#1", sk: `EVENT#${index}`, expires_at: 1, ...event(index), ...evidence }),
    },
  })),
});

// A single test for the bus, because a process has one client, which keeps its endpoint.
it("puts events on the bus in tens, and reports those that the bus refuses, without sending later ones", async () => {
  expect(await handler(batch(21))).toEqual({ batchItemFailures: [] });
  expect(calls.map((entries) => entries.length)).toEqual([10, 10, 1]);
  expect(calls.flat().map(({ Detail }) => JSON.parse(Detail))).toEqual(Array.from({ length: 21 }, (_, i) => event(i)));
  expect(calls.flat()[0]).toMatchObject({ EventBusName: "a-bus", Source: "patchbay", DetailType: "switch.updated" });
  expect(logs.lines()).toEqual([expect.objectContaining({ message: "events published", records: 21, published: 21 })]);

  calls = [];
  refused = ["event-12-", "event-17-"];
  expect(await handler(batch(25))).toEqual({
    batchItemFailures: [{ itemIdentifier: "112" }, { itemIdentifier: "117" }],
  });
  expect(calls.map((entries) => entries.length)).toEqual([10, 10]);
  expect(logs.lines().slice(1)).toEqual([
    expect.objectContaining({ message: "EVENTS_REFUSED", records: 25, published: 18, codes: ["ThrottlingException"] }),
  ]);

  [calls, refused] = [[], []];
  await handler(batch(10));
  expect(calls.map((entries) => entries.length)).toEqual([10]);
  expect(logs.written.join()).not.toContain("switch-");

  calls = [];
  const [unknownActor, noActor, noTime, noItem, longType] = batch(5).Records;
  const readable = batch(9).Records.slice(5);
  Object.assign(unknownActor?.dynamodb.NewImage ?? {}, marshall({ actor: { type: "robot", id: "r2", model: 7 } }));
  Object.assign(noActor?.dynamodb.NewImage ?? {}, marshall({ actor: { type: "robot" } }));
  Object.assign(noTime?.dynamodb.NewImage ?? {}, marshall({ at: "soon" }));
  Object.assign(noItem ?? {}, {
    dynamodb: { SequenceNumber: "103", Keys: marshall({ pk: "SWITCH#1", sk: "EVENT#3" }) },
  });
  Object.assign(longType?.dynamodb.NewImage ?? {}, marshall({ type: "t".repeat(129) }));
  const Records = [unknownActor, noActor, noTime, noItem, longType, ...readable];
  expect(await handler({ Records })).toEqual({ batchItemFailures: [] });
  const published = calls.flat().map(({ Detail }) => JSON.parse(Detail));
  const robots = { ...event(0), actor: { type: "robot", id: "r2", model: 7 } };
  expect(published).toEqual([robots, event(5), event(6), event(7), event(8)]);
  const letter = (index: number, why: string) => ({
    reason: expect.stringContaining(why),
    key: { pk: "SWITCH#1", sk: `EVENT#${index}` },
    sequence_number: `${100 + index}`,
  });
  const expected = [letter(1, "actor.id"), letter(2, "at "), letter(3, "id "), letter(4, "type ")];
  expect(letters).toEqual(expected);
  const unreadable = logs.lines().filter(({ message }) => message === "EVENT_UNREADABLE");
  expect(unreadable).toEqual(expected.map((one) => expect.objectContaining(one)));

  [calls, queueStatus] = [[], 400];
  await expect(handler({ Records: [noActor] })).rejects.toThrow();
  expect(calls).toEqual([]);
});
