import { formatCount } from "../admin/cli/progress.ts";
import { byState, type Letters } from "../admin/orders/letter.ts";
import type { OrderReport } from "../admin/orders/report.ts";
import type { Mark, Timeline } from "../admin/orders/timeline.ts";
import { type Html, html, timeOf } from "./html.ts";

/** An order as a picture. Each letter is a tile by its state. Below, time goes from left to right, with a row for each kind of event. */

const looks: Readonly<Record<string, readonly [word: string, symbol: string, style: string]>> = {
  created: ["uploaded", "+", ""],
  updated: ["changed", "~", ""],
  deleted: ["deleted", "×", ""],
  refused: ["refused", "!", "red"],
  pending: ["pending", "…", "yellow"],
  none: ["not sent", "·", "quiet"],
  withdrawn: ["withdrawn", "−", "quiet"],
  forwarded: ["forwarded", "✓", "green"],
  checked_out: ["checked out", "✓", "green"],
  settled: ["settled", "✓", "green"],
  checkout_failed: ["failed", "!", "red"],
};
const lookOf = (name: string) => looks[name] ?? [name, "?", ""];

const [left, end, high, near] = [120, 890, 30, 24];

export const picture = (timeline: Timeline): Html => {
  const x = (time: number) => Math.round(left + (end - left) * timeline.placeOf(time));
  const isNear = (one: number, other: number) => x(other) - x(one) < near;
  const mark = (action: string, y: number) => (one: Mark) => {
    const [, symbol, style] = lookOf(action);
    const shown = symbol + (one.count > 1 ? formatCount(one.count) : "");
    const width = Math.max(10 + 8 * shown.length, x(one.to) - x(one.from) + 18);
    return html`<g class="mark ${one.isLate ? "yellow" : style}" tabindex="0" role="img" aria-label="${one.text}"><title>${one.text}</title>
<rect x="${x(one.from) - 9}" y="${y - 9}" width="${width}" height="18" rx="9" fill="Canvas"/><text x="${x(one.from) - 9 + width / 2}" y="${y + 4}" text-anchor="middle">${shown}</text></g>`;
  };
  const bar = (from: number, to: number, look: Html) =>
    html`<line x1="${x(from)}" x2="${Math.max(x(to), x(from) + 2)}" y1="${high}" y2="${high}" ${look}/>`;
  const look = html`class="quiet" stroke-width="18" stroke-opacity=".3"`;
  const runs = timeline.runs.map(({ from, to }) => bar(from, to, look));
  const { wait, sealed } = timeline;
  const waiting = wait && bar(wait.from, wait.to, html`class="yellow" stroke-width="6" stroke-dasharray="5 4"`);
  const ends = timeline.ends(isNear).map(({ action, marks }) => marks.map(mark(action, high)));
  const rows = timeline.letters(isNear).map(({ action, marks, total }, nth) => {
    const y = (nth + 2) * high;
    return html`<text y="${y + 4}">${lookOf(action)[0]}</text>${marks.map(mark(action, y))}<text class="quiet" x="${end + 40}" y="${y + 4}">${formatCount(total)}</text>`;
  });
  const bottom = (rows.length + 2) * high;
  const upright = (time: number, look: Html) => html`<line x1="${x(time)}" x2="${x(time)}" y2="${bottom}" ${look}/>`;
  let [last, lastText, lastDay] = [-100, "", ""];
  const ticks = timeline.times.map((time) => {
    const [day, clock] = [timeOf(new Date(time)).slice(5, 10), timeOf(new Date(time)).slice(11, 19)];
    if (x(time) - last < 90 || clock === lastText) return "";
    const text = day === lastDay ? clock : `${day} ${clock.slice(0, 5)}`;
    [last, lastText, lastDay] = [x(time), clock, day];
    return html`${upright(time, html`stroke-opacity=".2"`)}<text class="quiet" x="${last}" y="${bottom + 16}" text-anchor="middle">${text}</text>`;
  });
  return html`<div class="wide" role="region" tabindex="0" aria-label="The order in time"><svg viewBox="0 0 1000 ${bottom + high}" font-size="13" role="group"
aria-label="Events from left to right">${ticks}<text class="quiet" y="${bottom + 16}">UTC</text>${sealed && upright(sealed, html`stroke-dasharray="2 4"`)}
${runs}${waiting}<text y="${high + 4}">checkout</text>${ends}${rows}</svg></div>
<p id="said" class="quiet" role="status">Point at a mark, or move to it with Tab, to read what was said.</p>`;
};

/** `2 refused, 58 forwarded` */
export const countStates = (letters: Letters): string => {
  const counts = byState(letters).map(({ state, all }) => `${formatCount(all.length)} ${lookOf(state)[0]}`);
  return counts.join(", ") || "no letter";
};

/** How many letters are drawn, and up to how many have their name. */
const [maxDrawn, maxNamed] = [300, 12];

/** Each letter as a tile in the colour of its state. */
export const board = ({ id, requests }: OrderReport): Html => {
  const letters = requests.flatMap((one) => one.attachments);
  const parents = new Map(requests.flatMap((one) => one.attachments.map((letter) => [letter, one.id] as const)));
  let room = maxDrawn;
  const rows = byState(letters).map(({ state, all }) => {
    const [word, symbol, style] = lookOf(state);
    const tiles = all.slice(0, room).map((letter) => {
      const name = letter.name ?? letter.id;
      const address = `/attachment/${letter.of}/${letter.of === "order" ? id : parents.get(letter)}/${letter.id}`;
      const text = letters.length > maxNamed ? symbol : `${symbol} ${name}`;
      return html`<li><a class="${style}" href="${address}" title="${name}" aria-label="${state}: ${name}">${text}</a></li>`;
    });
    room -= tiles.length;
    const more = all.length > tiles.length && html`<li>and ${formatCount(all.length - tiles.length)} more</li>`;
    return html`<p class="${style}">${formatCount(all.length)} ${word}</p><ul>${tiles}${more}</ul>`;
  });
  return html`<div class="board">${rows}</div>`;
};
