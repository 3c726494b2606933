import { collections, type EventSubject } from "../table/keys.ts";
import { parseItem, query, queryAll } from "../table/read.ts";
import { Event } from "./event.ts";

/** Yields the events of an order, a request, a switch, an account, a user or an API key, oldest first. */
export async function* historyOf(subject: EventSubject): AsyncGenerator<Event> {
  for await (const item of queryAll(collections.events(subject))) yield parseItem(Event, item);
}

/** Returns the latest events of a resource, oldest first. */
export const latestEvents = async (subject: EventSubject, limit: number): Promise<Event[]> => {
  const items = await query(collections.events(subject), { limit, descending: true });
  return items.map((item) => parseItem(Event, item)).reverse();
};
