import { ApiError } from "../../shared/errors.ts";
import { apply } from "../../shared/tenants/apply.ts";
import type { SectionName } from "../../shared/tenants/file.ts";
import { CommandError } from "./command-error.ts";
import { operatorOrigin } from "./operator.ts";

type Problem = ApiError["body"]["errors"][number];

const applyOne = async (
  section: SectionName,
  entry: object,
  describe: (property: string, detail: string) => string,
) => {
  const line = ({ source, detail }: Problem) => describe(source?.pointer.split("/")[3] ?? "", detail);
  try {
    const { one } = (await apply({ [section]: { one: entry } }, await operatorOrigin()))[section];
    if (!one) throw new Error("The entry has no result.");
    return one;
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 422) throw error;
    throw new CommandError(error.body.errors.map(line).join("\n"));
  }
};

/** Creates one item through `apply`. Returns its id and, for an API key, the key itself. An error names the option. */
export const create = async (section: SectionName, entry: object) => {
  const { id, key } = await applyOne(
    section,
    entry,
    (property, detail) => `--${property.replace("permissions", "permission").replaceAll("_", "-")}: ${detail}`,
  );
  return { id, ...(key !== undefined && { key }) };
};

/** Changes one item, which exists, through `apply`. Returns the earlier values of what changed. */
export const change = async (section: SectionName, id: string, entry: object) => {
  const { changes = {} } = await applyOne(
    section,
    { id, ...entry },
    (property, detail) => `The ${property} ${detail}.`,
  );
  return Object.fromEntries(Object.entries(changes).map(([name, { from }]) => [name, from]));
};
