import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod/mini";

const folder = join(import.meta.dirname, "stages");

/** The stages: each is a file `infra/aws/stages/<stage>.json`. */
export const stages: readonly string[] = readdirSync(folder)
  .filter((file) => file.endsWith(".json"))
  .map((file) => file.slice(0, -".json".length));

export const noStage = `Name the stage: -c stage=${stages.join(" or -c stage=")}.`;

export const stackNameOf = (stage: string, name?: string): string =>
  `Patchbay-${[stage, name].filter(Boolean).join("-")}`;

/** `retainData` is the stage's nature, not a setting: nothing overrides it. */
const StageFile = z.looseObject({ retainData: z.boolean() });

/** What a stage's file says; the settings in it are checked together with those of the context. */
export const readStage = (stage: string) => {
  if (!stages.includes(stage))
    throw new Error(`There is no stage ${stage}: infra/aws/stages has ${stages.join(" and ")}.`);
  return z.parse(StageFile, JSON.parse(readFileSync(join(folder, `${stage}.json`), "utf8")));
};
