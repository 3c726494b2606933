/** Highlights the page's samples in shell, TypeScript, Python and JSON. They use too little of each language to need a library. */
const token =
  /(?<name>"(?:\\.|[^"\\])*"(?=\s*:))|(?<string>f?"(?:\\.|[^"\\])*"|'[^']*'|`[^`]*`)|(?<number>\b\d+(?:\.\d+)?\b)|(?<keyword>\b(?:const|await|import|from|new|true|false|null|True|False|None|curl)\b)|(?<option>(?<=\s)--?[A-Za-z][\w-]*)/g;

const escaped = (text: string) =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");

const kindOf = (groups: Readonly<Record<string, string | undefined>> = {}) =>
  Object.keys(groups).find((kind) => groups[kind] !== undefined);

/** Converts code to HTML: escaped, with tokens in spans. */
export const highlight = (code: string): string => {
  let html = "";
  let end = 0;
  for (const { 0: text, index, groups } of code.matchAll(token)) {
    html += `${escaped(code.slice(end, index))}<span class="${kindOf(groups)}">${escaped(text)}</span>`;
    end = index + text.length;
  }
  return html + escaped(code.slice(end));
};
