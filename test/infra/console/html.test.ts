import { describe, expect, it } from "vitest";
import { html, record, sourceOf, table } from "../../../infra/console/html.ts";

describe("the console's HTML", () => {
  it.each([
    ["a script", "<script>alert(1)</script>", "&#60;script&#62;alert(1)&#60;/script&#62;"],
    ["a quote that would end an attribute", `" onload='x'`, "&#34; onload=&#39;x&#39;"],
    ["an entity", "&lt;", "&#38;lt;"],
    ["control characters", "\u001b[2J\0", "\\u001b[2J\\u0000"],
    ["a mark that changes the direction of text", "\u202egpj", "\\u202egpj"],
    ["half of a surrogate pair", "\ud800", "\\ud800"],
  ])("shows %s as text", (_, text, shown) => {
    expect(sourceOf(html`<p title="${text}">${text}</p>`)).toBe(`<p title="${shown}">${shown}</p>`);
    expect(sourceOf(record({ name: text }))).toContain(`>${shown}</span>`);
    expect(sourceOf(table(text, [{ [text]: [text] }])).split(shown)).toHaveLength(5);
  });

  it("shows the beginning of a text of a million characters", () => {
    expect(sourceOf(html`${"x".repeat(1_000_000)}`)).toBe(`${"x".repeat(2_000)}…`);
  });

  it("does not take an object for HTML because it looks like it", () => {
    expect(sourceOf(html`${{ kind: "html", toString: () => "<b>" }}`)).toBe("&#60;b&#62;");
  });

  it("joins lists, and leaves out what is false or missing", () => {
    expect(sourceOf(html`${[html`<i>1</i>`, 2, [3]]}${undefined}${null}${false}${0}${html``}`)).toBe("<i>1</i>230");
  });
});
