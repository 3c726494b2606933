import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod/mini";

const folder = join(import.meta.dirname, "stages");

/** Each stage is a file `infra/aws/stages/<stage>.json`. */
export const stages: readonly string[] = readdirSync(folder)
  .filter((file) => file.endsWith(".json"))
  .map((file) => file.slice(0, -".json".length));

export const noStage = `Choose a stage: -c stage=${stages.join(" or -c stage=")}.`;

export const stackNameOf = (stage: string, name?: string): string =>
  `Patchbay-${[stage, name].filter(Boolean).join("-")}`;

/** `retainData` is a property of the stage, not a setting. `-c` cannot override it. */
const StageFile = z.looseObject({ retainData: z.boolean() });

/** Reads a stage's file. `readSettings` validates the settings in it, together with the context. */
export const readStage = (stage: string) => {
  if (!stages.includes(stage))
    throw new Error(`There is no stage ${stage}. The stages in infra/aws/stages are ${stages.join(" and ")}.`);
  return z.parse(StageFile, JSON.parse(readFileSync(join(folder, `${stage}.json`), "utf8")));
};
