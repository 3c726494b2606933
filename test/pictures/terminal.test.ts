import { expect, it } from "vitest";
import { terminalSvg } from "./terminal.ts";

it("a recorded session shows its lines one after the other, escaped, and scrolls once the screen is full", () => {
  const short = terminalSvg("A session", [
    { kind: "command", text: "$ echo '<a> & b'", after: 1 },
    { kind: "output", text: "<a> & b", after: 0.5 },
  ]);
  expect([...short.matchAll(/animation-delay: ([\d.]+)s.*?>(.*)<\/text>/g)].map(([, at, text]) => [at, text])).toEqual([
    ["1.3", "$ echo '&lt;a&gt; &amp; b'"],
    ["1.8", "&lt;a&gt; &amp; b"],
  ]);
  expect(short).not.toContain("translateY(-");
  const lines = Array.from({ length: 28 }, () => ({ kind: "output" as const, text: "line", after: 1 }));
  expect(terminalSvg("A long session", lines)).toContain("100% { transform: translateY(-38px); }");
});

it("a recorded session wraps long lines, and cuts those that would fill the screen", () => {
  const svg = terminalSvg("Long lines", [{ kind: "output", text: "x".repeat(1_000), after: 1 }]);
  const widths = [...svg.matchAll(/>(x+…?)<\/text>/g)].map(([, text = ""]) => text.length);
  expect(widths).toEqual([104, 104, 104]);
  expect(svg).toContain("x…</text>");
});
