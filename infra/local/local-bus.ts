import { hash } from "node:crypto";
import { json } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { unmarshall } from "@aws-sdk/util-dynamodb";
import * as z from "zod/mini";
import { invalid, problemIn } from "../../shared/errors.ts";
import { actions, Event } from "../../shared/history/event.ts";
import { publish } from "../../shared/history/publish.ts";
import { keys } from "../../shared/table/keys.ts";
import { getMany } from "../../shared/table/read.ts";
import { readJsonFile, writeJson } from "./json-file.ts";
import { sendReply, serveLocally } from "./listen.ts";
import { Checkpoint, type Follower, followStream, tableStream } from "./table-stream.ts";

/** The bus on one machine. It keeps the last events, serves them, and posts them to a URL. */

/** Where events are posted, without the user name and the password that a user may have given in the URL. */
export type Receiver = { readonly url: string; readonly authorization?: string };

export type BusOptions = {
  readonly port?: number;
  /** Where the events and the position in the stream are stored. Without it, they are in memory. */
  readonly file?: string | undefined;
  /** Each event is posted here, as an API destination of EventBridge does. */
  readonly postTo?: Receiver | undefined;
  readonly onEvent?: (event: Event) => void;
  readonly warn: (message: string) => void;
};

type Deliver = Follower["deliver"];

const Stored = z.object({
  /** The stream is on the bus up to here. */
  checkpoint: z.optional(Checkpoint),
  /** The stream is posted up to here. */
  posted_until: z.optional(Checkpoint),
  /** The last events, without EventBridge's envelope. */
  events: z.array(z.object({ detail: Event })),
});
type Stored = z.infer<typeof Stored>;

const kept = 1_000;

const erased = "account.erased";

const PutEvents = z.object({ Entries: z.array(z.object({ Detail: z.string() })) });

/** An event as EventBridge delivers it. The `id` is always the same, whereas EventBridge gives each delivery its own. */
const deliveryOf = (detail: Event) => ({
  version: "0",
  id: hash("sha256", detail.id).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12}).*$/, "$1-$2-$3-$4-$5"),
  "detail-type": detail.type,
  source: "patchbay",
  account: "000000000000",
  time: detail.at.replace(/\.\d+/, ""),
  region: process.env.AWS_REGION ?? "us-east-1",
  resources: [],
  detail,
});

const types = Object.entries(actions).flatMap(([resource, names]) => names.map((name) => `${resource}.${name}`));

const unknownType = invalid([
  problemIn("query", "/type", "constraint.enum", 'is not a type of event, or a prefix like "switch."', {
    allowed: types,
  }),
]);

/** Returns the events after an event, of a type or of all types with a prefix. Returns undefined if no type matches. */
const eventsIn = (events: Stored["events"], query: URLSearchParams) => {
  const [after, type] = [query.get("after"), query.get("type")];
  const matches = (each: string) => type === null || each === type || (type.endsWith(".") && each.startsWith(type));
  if (!types.some(matches)) return undefined;
  const position = events.findLastIndex(({ detail }) => detail.id === after);
  const following = events.slice(position + 1).filter(({ detail }) => matches(detail.type));
  return { events: following.map(({ detail }) => deliveryOf(detail)), gap: Boolean(after) && position < 0 };
};

/** The wait after the first failure, and the maximum, in milliseconds. */
const [firstWait, maxWait] = [200, 10_000];

/** Posts an event. Resolves with the reason if it is not accepted. */
const post = ({ url, authorization }: Receiver, event: Event, stopped: AbortSignal): Promise<string | undefined> =>
  fetch(url, {
    method: "POST",
    headers: { "Content-Type": "application/json; charset=utf-8", ...(authorization && { authorization }) },
    body: JSON.stringify(deliveryOf(event)),
    redirect: "manual",
    signal: AbortSignal.any([stopped, AbortSignal.timeout(5_000)]),
  }).then(
    async (response) => {
      await response.body?.cancel();
      return response.ok ? undefined : `status ${response.status}`;
    },
    (error: Error) => (error.cause instanceof Error ? error.cause.message : error.message),
  );

/** Posts an event as an API destination does, until it is accepted. Rejects when the service stops. */
const postUntilAccepted = async (to: Receiver, event: Event, stopped: AbortSignal, warn: BusOptions["warn"]) => {
  let reported: string | undefined;
  for (let wait = firstWait; ; wait = Math.min(2 * wait, maxWait)) {
    const failure = await post(to, event, stopped);
    if (failure === undefined) return;
    if (failure !== reported && !stopped.aborted)
      warn(
        `${to.url} has not accepted ${event.type} ${event.id} (${failure}). It is posted again until it is accepted.`,
      );
    reported = failure;
    await sleep(wait, undefined, { signal: stopped });
  }
};

/** How often the state is saved, if it has changed, in milliseconds. */
const saveEvery = 200;

/** Saves the state to a file. After a crash, unsaved events are read from the stream again. */
const startSaving = (file: string | undefined, state: Stored, warn: BusOptions["warn"]) => {
  let [saved, reported] = ["", ""];
  const save = () => {
    if (!file) return;
    const positions = JSON.stringify([state.checkpoint, state.posted_until]);
    if (positions === saved) return;
    try {
      writeJson(file, state);
      [saved, reported] = [positions, ""];
    } catch (error) {
      if (String(error) !== reported) warn(`The position in the events cannot be saved yet: ${error}`);
      reported = String(error);
    }
  };
  const timer = setInterval(save, saveEvery);
  return () => {
    clearInterval(timer);
    save();
  };
};

/** Starts the bus. `follow` reads the table's stream into it, once `environment` and the table are in this process's environment. */
export const startBus = async ({ port, file, postTo, onEvent, warn }: BusOptions) => {
  // If the file is damaged, the stream is read again from its beginning.
  const state: Stored = (file && readJsonFile(Stored, file)) || { events: [] };
  // Clients that poll during a start wait, so that they do not miss events that are published again after a crash.
  const { promise: caughtUp, resolve: catchUp } = Promise.withResolvers<void>();

  /** Takes the events of accounts that no longer exist from the bus. The accounts below an erased one have no event of their own. */
  const forgetErased = async () => {
    const ids = [...new Set(state.events.map(({ detail }) => detail.account))];
    const found = await getMany(ids.map(keys.account));
    const gone = new Set(ids.filter((_, index) => !found[index]));
    state.events = state.events.filter(({ detail }) => detail.type === erased || !gone.has(detail.account));
  };

  const put = async (body: unknown) => {
    const added = z.parse(PutEvents, body).Entries.map(({ Detail }) => z.parse(Event, JSON.parse(Detail)));
    // After a crash, events are put again if the position in the stream was not saved.
    const known = new Set(state.events.map(({ detail }) => detail.id));
    const fresh = added.filter(({ id }) => !known.has(id)).map((detail) => ({ detail }));
    state.events = [...state.events, ...fresh].slice(-kept);
    for (const event of added) onEvent?.(event);
    if (added.some(({ type }) => type === erased)) await forgetErased();
    return { FailedEntryCount: 0, Entries: added.map(({ id }) => ({ EventId: id })) };
  };

  const { url, close } = await serveLocally(async (request, response) => {
    const send = (status: number, body: object, type = "json") =>
      sendReply(response, { status, headers: { "content-type": `application/${type}` }, body });
    if (request.method !== "GET") return send(200, await put(await json(request)), "x-amz-json-1.1");
    await caughtUp;
    const events = eventsIn(state.events, new URL(request.url ?? "", "http://local").searchParams);
    send(events ? 200 : 400, events ?? unknownType.body);
  }, port);
  const onUnreadable: Parameters<typeof publish>[1] = ({ reason }) => warn(`EVENT_UNREADABLE, and skipped: ${reason}`);
  const toBus: Deliver = async (records) => {
    const { batchItemFailures } = await publish({ Records: records }, onUnreadable);
    if (batchItemFailures.length > 0) throw new Error("The bus refused events.");
  };
  const toUrl =
    (receiver: Receiver): Deliver =>
    async (records, stopped) => {
      for (const { dynamodb } of records) {
        // `publish` has already reported events that cannot be read.
        const { data } = z.safeParse(Event, unmarshall(dynamodb?.NewImage ?? {}));
        if (data) await postUntilAccepted(receiver, data, stopped, warn);
      }
    };
  const followFor = (from: string, position: "checkpoint" | "posted_until", limit: number, deliver: Deliver) => {
    const onDelivered: Follower["onDelivered"] = (reached) => {
      state[position] = reached;
      if (!postTo) state.posted_until = reached;
    };
    return followStream({ stream: from, from: state[position], limit, deliver, onDelivered, warn });
  };
  const followers: ReturnType<typeof followFor>[] = [];
  const follow = async () => {
    const stream = await tableStream();
    if (!stream) warn("The table has no stream, so no event is published.");
    if (stream) followers.push(followFor(stream, "checkpoint", 100, toBus));
    // A small batch, because a crash can post the whole batch again.
    if (stream && postTo) followers.push(followFor(stream, "posted_until", 10, toUrl(postTo)));
    void (followers[0]?.caughtUp ?? Promise.resolve()).then(catchUp);
  };
  const stopSaving = startSaving(file, state, warn);
  /** The position up to which the stream is on the bus, and posted. */
  const delivered = () =>
    [state.checkpoint, state.posted_until]
      .map((one) => one?.sequence ?? "0")
      .sort((a, b) => Number(a) - Number(b))[0] ?? "0";
  const stop = async () => {
    await Promise.all(followers.map((follower) => follower.stop()));
    stopSaving();
    await close();
  };
  const environment = { EVENT_BUS_NAME: "patchbay", AWS_ENDPOINT_URL_EVENTBRIDGE: url };
  return { url: `${url}/events`, environment, follow, delivered, stop };
};
