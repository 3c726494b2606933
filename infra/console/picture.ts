import type { StoredEvent } from "../../shared/history/event.ts";
import { styleOf } from "../admin/cli/output.ts";
import type { OrderReport } from "../admin/orders/report.ts";
import { type Html, html } from "./html.ts";

/**
 * An order as a picture. Time goes from left to right, the checkout's runs are above, and each request has a row for each letter.
 */

/** An event, with its actor and what was said, as the history prints them. */
type Told = { readonly event: StoredEvent; readonly actor: unknown; readonly said: unknown };

const known = "created+ updated~ deleted× forwarded✓ withdrawn− refused! checked_out✓ checkout_failed!".split(" ");
const symbols = new Map(known.map((one) => [one.slice(0, -1), one.slice(-1)]));
const legend = "+ uploaded, ~ changed, × deleted, ✓ forwarded or checked out, − withdrawn, ! refused or failed.";

const [left, end, high] = [250, 880, 26];

/** Seconds matter within a run, and days before it. So a gap is as wide as the logarithm of its time. */
const scaleOf = (times: readonly number[]) => {
  const sorted = [...new Set(times)].sort((a, b) => a - b);
  const positions = new Map<number, number>();
  let [position, last] = [0, sorted[0] ?? 0];
  for (const time of sorted) {
    if (time > last) position += 1 + Math.log2(1 + (time - last) / 1_000);
    positions.set(time, position);
    last = time;
  }
  const x = (time: number) => Math.round(left + ((end - left) * (positions.get(time) ?? 0)) / (position || 1));
  return { sorted, x };
};

const timeOf = ({ event }: Told) => Date.parse(event.at);

/** How many letters are drawn. These are the least advanced ones, and the others are counted. */
const maxLetters = 60;
const states = ["refused", "pending", undefined, "withdrawn", "forwarded"] as const;

export const picture = ({ id, checkout, seal, requests }: OrderReport, told: readonly Told[], now: Date): Html => {
  const isRunning = checkout?.status === "RUNNING";
  const waits = isRunning && checkout.next_try_at;
  const stored = [checkout?.started_at, seal?.at, waits].flatMap((time) => (time ? [Date.parse(time)] : []));
  const { sorted, x } = scaleOf([...told.map(timeOf), ...stored, ...(isRunning ? [now.getTime()] : [])]);
  const sealed = seal ? Date.parse(seal.at) : Number.POSITIVE_INFINITY;

  const mark = (one: Told, y: number) => {
    const action = one.event.type.replace(/^.*\./, "");
    const isLate = timeOf(one) > sealed && /created|updated|deleted/.test(action);
    const symbol = symbols.get(action) ?? "?";
    const style = isLate ? "yellow" : { "✓": "green", "!": "red" }[symbol];
    const late = isLate && "too late for the carrier";
    const text = [action.replaceAll("_", " "), late, one.event.at, one.actor, one.said].filter(Boolean).join(" · ");
    return html`<g class="mark ${style}" tabindex="0" role="img" aria-label="${text}"><title>${text}</title>
<circle cx="${x(timeOf(one))}" cy="${y}" r="9" stroke-width="2"/><text x="${x(timeOf(one))}" y="${y + 4}" text-anchor="middle">${symbol}</text></g>`;
  };
  const line = (from: number, to: number, look: Html, title: string) =>
    html`<line x1="${x(from)}" x2="${Math.max(x(to), x(from) + 2)}" y1="${high}" y2="${high}" ${look}><title>${title}</title></line>`;
  const row = (label: Html, state: string, events: readonly Told[], y: number) =>
    html`${label}${events.map((one) => mark(one, y))}<text class="${styleOf(state)}" x="${end + 24}" y="${y + 4}">${state}</text>`;
  const heading = (text: string, y: number) => html`<text font-weight="600" y="${y + 4}">${text}</text>`;

  // Only the last run has stored when it started. Earlier ones are drawn from their first event.
  const ofRuns = Map.groupBy(
    told.filter(({ event }) => event.actor.type === "checkout"),
    ({ event }) => event.actor.id,
  );
  const runs = [...new Set([...ofRuns.keys(), checkout?.run ?? ""])].map((run) => {
    const times = (ofRuns.get(run) ?? []).map(timeOf);
    if (checkout?.run === run) times.push(Date.parse(checkout.started_at), ...(isRunning ? [now.getTime()] : []));
    times.sort((a, b) => a - b);
    return line(times[0] ?? 0, times.at(-1) ?? 0, html`class="quiet" stroke-width="20" stroke-opacity=".3"`, run);
  });
  const dashes = html`class="yellow" stroke-width="6" stroke-dasharray="5 4"`;
  const why = waits && `waits until ${waits}: ${checkout.last_answer ?? "no answer"}`;
  const waiting = why && line(now.getTime(), Date.parse(waits), dashes, why);

  const letters = requests.flatMap(({ attachments }) => attachments);
  const byState = Map.groupBy(letters, ({ receipt }) => receipt?.state);
  const drawn = new Set(states.flatMap((state) => byState.get(state) ?? []).slice(0, maxLetters));
  const ofLetter = Map.groupBy(told, ({ event }) => event.resource.id);
  let y = high;
  const rows = requests.map((request) => {
    const shown = request.attachments.filter((letter) => drawn.has(letter));
    const more = request.attachments.length - shown.length;
    y += high;
    const head = heading(`Request ${request.id} ${request.type}${more > 0 ? `, and ${more} more letters` : ""}`, y);
    const ofRequest = shown.map(({ of, id: letter, name = letter, receipt }) => {
      y += high;
      const label = name.length > 34 ? `${name.slice(0, 33)}…` : name;
      const address = `/attachment/${of}/${of === "order" ? id : request.id}/${letter}`;
      const link = html`<a href="${address}"><text x="12" y="${y + 4}">${label}</text></a>`;
      const own = ofLetter
        .get(letter)
        ?.filter(({ event: { parent } }) => parent?.id === id || parent?.id === request.id);
      return row(link, receipt?.state ?? "none", own ?? [], y);
    });
    return [head, ofRequest];
  });
  const upright = (time: number, look: Html, title?: string) =>
    html`<line x1="${x(time)}" x2="${x(time)}" y2="${y + high}" ${look}><title>${title}</title></line>`;
  let [last, lastDay] = [-100, ""];
  const ticks = sorted.map((time) => {
    if (x(time) - last < 90) return "";
    const [day = "", clock = ""] = new Date(time).toISOString().split("T");
    const text = day === lastDay ? clock.slice(0, 8) : `${day.slice(5)} ${clock.slice(0, 5)}`;
    [last, lastDay] = [x(time), day];
    return html`${upright(time, html`stroke-opacity=".2"`)}<text class="quiet" x="${last}" y="${y + high + 16}" text-anchor="middle">${text}</text>`;
  });
  const sealLine = seal && upright(sealed, html`stroke-dasharray="2 4"`, `sealed at ${seal.at}`);
  const ends = told.filter(({ event }) => /^order\.(checked|checkout|settled)/.test(event.type));
  const top = row(heading("Checkout", high), checkout?.status ?? "not started", ends, high);
  return html`<div class="wide" role="region" tabindex="0" aria-label="The order in time"><svg viewBox="0 0 1000 ${y + 2 * high}" font-size="12" role="group"
aria-label="Events from left to right">${ticks}${sealLine}${checkout && runs}${waiting}${top}${rows}</svg></div>
<p id="said" class="quiet" role="status">${legend} Point at a mark, or move to it with Tab.</p>`;
};
