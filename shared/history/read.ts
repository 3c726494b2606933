import { collections, type EventSubject } from "../table/keys.ts";
import { parseItem, queryAll } from "../table/read.ts";
import { Event } from "./event.ts";

/** Yields the events of an order, a request, a switch, an account, a user or an API key, oldest first. */
export async function* historyOf(subject: EventSubject): AsyncGenerator<Event> {
  for await (const item of queryAll(collections.events(subject))) yield parseItem(Event, item);
}
