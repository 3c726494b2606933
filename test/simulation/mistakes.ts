import { readFileSync } from "node:fs";
import { registerHooks } from "node:module";
import { join } from "node:path";
import { parse } from "yaml";
import * as z from "zod/mini";

/** Mistakes that are put into the code on purpose, to see that a mix finds them: mistakes.yaml has them. */
const Mistake = z.object({
  in: z.string(),
  text: z.string(),
  replacement: z.string(),
  mix: z.string(),
  within: z.number(),
});

export const mistakes = z.parse(
  z.record(z.string(), Mistake),
  parse(readFileSync(join(import.meta.dirname, "mistakes.yaml"), "utf8")),
);

/** Puts a mistake into the code that is loaded from now on. */
export const make = ({ in: file, text, replacement }: z.infer<typeof Mistake>): void => {
  registerHooks({
    load: (url, context, nextLoad) => {
      const loaded = nextLoad(url, context);
      if (!url.endsWith(`/${file}`)) return loaded;
      const source = String(loaded.source);
      if (source.split(text).length !== 2) throw new Error(`${file} does not have this text once: ${text}`);
      return { ...loaded, source: source.replace(text, () => replacement) };
    },
  });
};
