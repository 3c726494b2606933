import { readFileSync } from "node:fs";
import { registerHooks } from "node:module";
import { join } from "node:path";
import { parse } from "yaml";
import * as z from "zod/mini";

/** Mistakes that are put into the code on purpose, to see that a mix finds them. mistakes.yaml lists them by file. */
const Mistake = z.object({
  /** A text that occurs once in the file, with the deleted text as [-text-] and the inserted text as {+text+}. */
  code: z.string(),
  mix: z.string(),
  within: z._default(z.number(), 200),
});

const mistakesByFile = z.parse(
  z.record(z.string(), z.record(z.string(), Mistake)),
  parse(readFileSync(join(import.meta.dirname, "mistakes.yaml"), "utf8")),
);

type Made = z.infer<typeof Mistake> & { readonly file: string };
type Edit = Pick<Made, "file" | "code">;

export const mistakes: Readonly<Record<string, Made>> = Object.fromEntries(
  Object.entries(mistakesByFile).flatMap(([file, named]) =>
    Object.entries(named).map(([name, mistake]) => [name, { ...mistake, file }]),
  ),
);

/** Makes functions that start after a deployment send one more property: see `SENDS_MORE` in install.ts. */
export const laterRelease: Edit = {
  file: "shared/checkout/carrier.ts",
  code: "({ id: attachment, request_id: request, ...sent, {+...(process.env.SENDS_MORE && { release: 2 }), +}content_type",
};

/** Returns the source of a mistake's file with the mistake in it. */
export const withMistake = (source: string, { file, code }: Edit): string => {
  const text = code.replaceAll(/\{\+.*?\+\}/gs, "").replaceAll(/\[-(.*?)-\]/gs, "$1");
  const replacement = code.replaceAll(/\[-.*?-\]/gs, "").replaceAll(/\{\+(.*?)\+\}/gs, "$1");
  if (source.split(text).length !== 2) throw new Error(`${file} does not have this text once: ${text}`);
  return source.replace(text, () => replacement);
};

/** Puts a mistake into the code that is loaded from now on. */
export const make = (mistake: Edit): void => {
  registerHooks({
    load: (url, context, nextLoad) => {
      const loaded = nextLoad(url, context);
      return url.endsWith(`/${mistake.file}`)
        ? { ...loaded, source: withMistake(String(loaded.source), mistake) }
        : loaded;
    },
  });
};
