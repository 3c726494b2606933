import type { StoredEvent } from "../../../shared/history/event.ts";
import { rowsOf } from "../history/history.ts";
import type { OrderReport } from "./report.ts";

/** What happened to an order, in time: its runs, and the events of its letters by what was done. */

/** Events of one kind at about the same time. */
export type Mark = {
  readonly from: number;
  readonly to: number;
  readonly count: number;
  /** They came after the checkout, too late for the carrier. */
  readonly isLate: boolean;
  readonly text: string;
};

type Told = { readonly at: number; readonly action: string; readonly text: string; readonly isLate: boolean };

/** Each event in words: the letter, the time, who did it, and what was said. */
const toldOf = async ({ requests }: OrderReport, events: readonly StoredEvent[]) => {
  const names = new Map(requests.flatMap(({ attachments }) => attachments.map((one) => [one.id, one.name] as const)));
  const rows = await rowsOf(events);
  return events.map((event, nth): Told => {
    const { actor, "response or reason": said } = rows[nth] ?? {};
    const action = event.type.replace(/^.*\./, "");
    const isLate = event.late === true;
    const name = event.name ?? names.get(event.resource.id);
    const text = [name, `${event.at.slice(0, 19).replace("T", " ")} UTC`, actor, said].filter(Boolean).join(" · ");
    return { at: Date.parse(event.at), action, text, isLate };
  });
};

/** `near` says whether two times are at the same place. Events near the last one are one mark with it. */
const marksOf = (told: readonly Told[], near: (one: number, other: number) => boolean): Mark[] => {
  const marks: Told[][] = [];
  for (const one of told) {
    const last = marks.at(-1)?.at(-1);
    if (last && near(last.at, one.at) && last.isLate === one.isLate) marks.at(-1)?.push(one);
    else marks.push([one]);
  }
  return marks.map((all) => {
    const [first, last] = [all[0]?.at ?? 0, all.at(-1)?.at ?? 0];
    const { isLate = false, action = "" } = all[0] ?? {};
    const count = all.length > 1 ? `${all.length} ` : "";
    const more = all.length > 3 ? [`and ${all.length - 3} more`] : [];
    const late = isLate ? ["too late for the carrier"] : [];
    const words = [count + action.replaceAll("_", " "), ...late, ...all.slice(0, 3).map(({ text }) => text), ...more];
    return { from: first, to: last, count: all.length, isLate, text: words.join(" · ") };
  });
};

/** Seconds matter within a run, and days before it. So a gap is as wide as the logarithm of its time. Places are from 0 to 1. */
const placesOf = (times: readonly number[]) => {
  const places = new Map<number, number>();
  let [place, last] = [0, times[0] ?? 0];
  for (const time of times) {
    if (time > last) place += 1 + Math.log2(1 + (time - last) / 1_000);
    places.set(time, place);
    last = time;
  }
  return (time: number) => (places.get(time) ?? 0) / (place || 1);
};

const actions = ["created", "updated", "deleted", "refused", "forwarded", "withdrawn"];
const ends = ["checked_out", "checkout_failed", "settled"];

export const timelineOf = async (report: OrderReport, events: readonly StoredEvent[], now: Date) => {
  const { checkout, seal } = report;
  const isRunning = checkout?.status === "RUNNING";
  const until = isRunning && checkout.next_try_at;
  const told = await toldOf(report, events);
  const lettersTold = told.filter((_, nth) => events[nth]?.type.includes("attachment"));
  // Only the last run has stored when it started. Earlier ones are drawn from their first event.
  const ofRuns = Map.groupBy(
    events.filter(({ actor }) => actor.type === "checkout"),
    ({ actor }) => actor.id,
  );
  const runs = [...new Set([...ofRuns.keys(), ...(checkout ? [checkout.run] : [])])].map((run) => {
    const times = (ofRuns.get(run) ?? []).map(({ at }) => Date.parse(at));
    if (checkout?.run === run) times.push(Date.parse(checkout.started_at), ...(isRunning ? [now.getTime()] : []));
    return { run, from: Math.min(...times), to: Math.max(...times) };
  });
  const wait = until ? { from: now.getTime(), to: Date.parse(until) } : undefined;
  const sealed = seal ? Date.parse(seal.at) : undefined;
  const all = [...told.map(({ at }) => at), ...runs.flatMap(({ from, to }) => [from, to]), sealed, wait?.to];
  const times = [...new Set(all.filter((time) => time !== undefined))].sort((one, other) => one - other);
  return {
    times,
    placeOf: placesOf(times),
    runs,
    wait,
    sealed,
    ends: (near: (one: number, other: number) => boolean) =>
      ends.map((action) => ({
        action,
        marks: marksOf(
          told.filter((one) => one.action === action),
          near,
        ),
      })),
    letters: (near: (one: number, other: number) => boolean) =>
      actions.flatMap((action) => {
        const marks = marksOf(
          lettersTold.filter((one) => one.action === action),
          near,
        );
        return marks.length > 0 ? [{ action, marks, total: marks.reduce((sum, { count }) => sum + count, 0) }] : [];
      }),
  };
};
export type Timeline = Awaited<ReturnType<typeof timelineOf>>;
