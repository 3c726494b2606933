/** Draws a terminal session as an animated SVG without scripts or fonts, so that GitHub shows it in an `<img>`. */

export type Line = {
  readonly kind: "command" | "output" | "comment";
  readonly text: string;
  /** Seconds after the line before. */
  readonly after: number;
};

const columns = 104;
const rows = 26;
const rowHeight = 19;
const padding = 16;
const barHeight = 34;

const escaped = (text: string) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

/** The maximum number of rows of one long line. */
const rowsOfLine = 3;

const folded = (line: Line): readonly Line[] => {
  const whole =
    line.text.length > columns * rowsOfLine ? `${line.text.slice(0, columns * rowsOfLine - 1)}…` : line.text;
  const parts = whole.match(new RegExp(`.{1,${columns}}`, "g")) ?? [""];
  return parts.map((text, index) => ({ ...line, text, after: index === 0 ? line.after : 0 }));
};

const round = (value: number) => Number(value.toFixed(2));

/** Scrolls up by one row for each line below the last row. */
const scrolling = (times: readonly number[]) => {
  const end = (times.at(-1) ?? 0) + 1;
  // Rows of one wrapped line appear together, so the last of them determines the scrolling.
  const hiddenAt = new Map(times.map((time, index) => [round((time / end) * 100), index + 1 - rows] as const));
  const steps = [...hiddenAt]
    .filter(([, hidden]) => hidden > 0)
    .map(([at, hidden]) => `${at}% { transform: translateY(${-hidden * rowHeight}px); }`);
  const last = Math.max(0, times.length - rows) * -rowHeight;
  return `@keyframes scroll { ${steps.join(" ")} 100% { transform: translateY(${last}px); } }
.text { animation: scroll ${round(end)}s step-end forwards; }
@media (prefers-reduced-motion: reduce) { .text { animation: none; transform: translateY(${last}px); } .line { animation: none; opacity: 1; } }`;
};

const style = (times: readonly number[]) => `
text { font: 13px ui-monospace, "SF Mono", "Cascadia Mono", "DejaVu Sans Mono", monospace; fill: #d7e3e6; white-space: pre; }
.command { fill: #9bd8e1; } .comment { fill: #8fa3a8; }
.line { opacity: 0; animation: appear 0.01s forwards; }
@keyframes appear { to { opacity: 1; } }
${scrolling(times)}`;

export const terminalSvg = (title: string, session: readonly Line[]): string => {
  const lines = session.flatMap(folded);
  let now = 0.3;
  const times = lines.map(({ after }) => {
    now += after;
    return now;
  });
  const width = padding * 2 + columns * 7.85;
  const height = barHeight + padding + rows * rowHeight;
  const texts = lines.map(
    ({ kind, text }, index) =>
      `<text class="line ${kind}" style="animation-delay: ${round(times[index] ?? 0)}s" x="${padding}" y="${barHeight + (index + 1) * rowHeight}">${escaped(text)}</text>`,
  );
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-label="${escaped(title)}">
<style>${style(times)}</style>
<defs><clipPath id="screen"><rect y="${barHeight}" width="${width}" height="${height - barHeight - padding / 2}"/></clipPath></defs>
<rect width="${width}" height="${height}" rx="10" fill="#0e1719"/>
<g fill="#4d656c"><circle cx="20" cy="17" r="5"/><circle cx="38" cy="17" r="5"/><circle cx="56" cy="17" r="5"/></g>
<g clip-path="url(#screen)"><g class="text">
${texts.join("\n")}
</g></g>
</svg>
`;
};
