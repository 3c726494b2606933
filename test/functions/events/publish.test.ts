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
beforeEach(async () => {
  [calls, refused] = [[], []];
  const server = createServer(async (request, response) => {
    const { Entries } = z.parse(Call, await json(request));
    calls.push(Entries);
    const results = Entries.map(({ Detail }) =>
      refused.some((id) => Detail.includes(`"id":"${id}"`)) ? { ErrorCode: "ThrottlingException" } : { EventId: "1" },
    );
    const FailedEntryCount = results.filter((each) => "ErrorCode" in each).length;
    response.end(JSON.stringify({ FailedEntryCount, Entries: results }));
  });
  bus = await listen(server);
  vi.stubEnv("AWS_ENDPOINT_URL_EVENTBRIDGE", bus.url).stubEnv("EVENT_BUS_NAME", "a-bus");
  logs = captureLogs();
});
afterEach(async () => {
  logs.stop();
  vi.unstubAllEnvs();
  await bus.close();
});

const event = (index: number): Event => ({
  id: `event-${index}-`,
  type: "switch.updated",
  at: "2026-11-22T09:30:00.000Z",
  account: "account",
  actor: { type: "operator", id: "local" },
  resource: { type: "switch", id: `switch-${index}`, version: 2 },
  parent: null,
  changed: ["name"],
  request_id: null,
});

/** A batch of the stream. An item has its keys and its expiry, too. */
const batch = (count: number) => ({
  Records: Array.from({ length: count }, (_, index) => ({
    eventName: "INSERT",
    dynamodb: {
      SequenceNumber: `${100 + index}`,
      NewImage: marshall({ pk: "SWITCH#1", sk: `EVENT#${index}`, expires_at: 1, ...event(index) }),
    },
  })),
});

// One test, because a process has one client, which keeps its endpoint.
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
});
