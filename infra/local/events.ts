import { randomUUID } from "node:crypto";
import { json } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import * as z from "zod/mini";
import { Event } from "../../shared/history/event.ts";
import { readJson, writeJson } from "./json-file.ts";
import { serveLocally } from "./listen.ts";
import { type Checkpoint, followStream, tableStream } from "./table-stream.ts";

/** The bus on one machine: it keeps the last events, serves them, and posts them to a URL. */

type Options = {
  /** Where the events and the position in the stream are stored. Without it, they are in memory. */
  readonly file?: string | undefined;
  /** Each event is posted here, as an API destination of EventBridge does. */
  readonly postTo?: string | undefined;
  readonly onEvent?: (event: Event) => void;
  readonly warn: (message: string) => void;
};

const Delivery = z.object({
  version: z.literal("0"),
  id: z.string(),
  "detail-type": z.string(),
  source: z.string(),
  account: z.string(),
  time: z.string(),
  region: z.string(),
  resources: z.array(z.string()),
  detail: Event,
});
type Delivery = z.infer<typeof Delivery>;

const Stored = z.object({
  checkpoint: z.optional(z.object({ stream: z.string(), shard: z.string(), sequence: z.string() })),
  /** The newest event that was posted. */
  posted: z.optional(z.string()),
  events: z.array(Delivery),
});

const kept = 1_000;

const PutEvents = z.object({
  Entries: z.array(z.object({ Source: z.string(), DetailType: z.string(), Detail: z.string(), Time: z.number() })),
});

const deliveryOf = ({ Source, DetailType, Detail, Time }: z.infer<typeof PutEvents>["Entries"][number]): Delivery => ({
  version: "0",
  id: randomUUID(),
  "detail-type": DetailType,
  source: Source,
  account: "000000000000",
  time: new Date(Time * 1_000).toISOString().replace(/\.\d+/, ""),
  region: process.env.AWS_REGION ?? "us-east-1",
  resources: [],
  detail: z.parse(Event, JSON.parse(Detail)),
});

const after = (events: readonly Delivery[], id: string | null | undefined) =>
  events.slice(events.findLastIndex(({ detail }) => detail.id === id) + 1);

/** How often an event is posted. EventBridge tries for 24 hours. */
const maxPosts = 6;

/** Resolves with the reason why an event could not be posted. */
const post = async (url: string, event: Delivery): Promise<string | undefined> => {
  const [headers, body] = [{ "Content-Type": "application/json; charset=utf-8" }, JSON.stringify(event)];
  for (let attempt = 1; ; attempt += 1) {
    const signal = AbortSignal.timeout(5_000);
    const failure = await fetch(url, { method: "POST", headers, body, signal }).then(
      async (response) => {
        await response.body?.cancel();
        return response.ok ? undefined : `status ${response.status}`;
      },
      (error: Error) => (error.cause instanceof Error ? error.cause.message : error.message),
    );
    if (!failure || attempt >= maxPosts) return failure;
    await sleep(100 * 2 ** attempt, undefined, { ref: false });
  }
};

/** Starts the bus, and reads the table's stream into it. The environment names the table and its endpoint. */
export const startEvents = async ({ file, postTo, onEvent, warn }: Options) => {
  // If the file is damaged, the stream is read again from its beginning.
  let { events, checkpoint, posted }: z.infer<typeof Stored> = (file && readJson(Stored, file)) || { events: [] };
  const toPost = postTo ? after(events, posted) : [];
  let posting = false;

  const save = () => {
    if (!file) return;
    posted = postTo ? posted : events.at(-1)?.detail.id;
    writeJson(file, { checkpoint, posted, events });
  };

  const postAll = async (url: string) => {
    if (posting) return;
    posting = true;
    for (let event = toPost.shift(); event; event = toPost.shift()) {
      const failure = await post(url, event);
      if (failure) warn(`${event["detail-type"]} ${event.detail.id} was not accepted by ${url}: ${failure}`);
      posted = event.detail.id;
      if (toPost.length === 0) save();
    }
    posting = false;
  };

  const put = (body: unknown) => {
    const added = z.parse(PutEvents, body).Entries.map(deliveryOf);
    events = [...events, ...added].slice(-kept);
    for (const { detail } of added) onEvent?.(detail);
    if (postTo) {
      toPost.push(...added);
      void postAll(postTo);
    }
    return { FailedEntryCount: 0, Entries: added.map(({ id }) => ({ EventId: id })) };
  };

  const list = (query: URLSearchParams) => {
    const type = query.get("type");
    return { events: after(events, query.get("after")).filter((event) => !type || event["detail-type"] === type) };
  };

  const { url, close } = await serveLocally(async (request, response) => {
    const send = (status: number, body: object, type = "json") =>
      response.writeHead(status, { "Content-Type": `application/${type}` }).end(JSON.stringify(body));
    if (request.method === "GET") return send(200, list(new URL(request.url ?? "", "http://local").searchParams));
    send(200, put(await json(request)), "x-amz-json-1.1");
  });
  Object.assign(process.env, { EVENT_BUS_NAME: "patchbay", AWS_ENDPOINT_URL_EVENTBRIDGE: url });
  if (postTo) void postAll(postTo);
  const stream = await tableStream();
  if (!stream) warn("The table has no stream, so no event is published.");
  const onPublished = (reached: Checkpoint) => {
    checkpoint = reached;
    save();
  };
  const reader = stream ? followStream(stream, checkpoint, onPublished, warn) : undefined;
  const stop = async () => {
    await reader?.stop();
    await close();
  };
  return { url: `${url}/events`, stop };
};
