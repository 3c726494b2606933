import { readFileSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod/mini";

const folder = join(process.env.PATCHBAY_STATE ?? join(import.meta.dirname, "../../.patchbay"), "emulators");

const Note = z.object({ endpoint: z.url() });

/** The emulator that `npm run deploy:local` deployed the stack of that name to; undefined where it did not. */
export const notedEndpoint = (stackName: string): string | undefined => {
  try {
    return z.parse(Note, JSON.parse(readFileSync(join(folder, `${stackName}.json`), "utf8"))).endpoint;
  } catch {
    return undefined;
  }
};
