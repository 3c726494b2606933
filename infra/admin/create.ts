import { ApiError } from "../../shared/errors.ts";
import { apply } from "../../shared/tenants/apply.ts";
import type { SectionName } from "../../shared/tenants/file.ts";
import { CommandError } from "./command-error.ts";

/** Creates one item through `apply`, and returns its id and, for an API key, the key itself. */
export const create = async (section: SectionName, entry: object) => {
  try {
    const applied = await apply({ [section]: { new: entry } });
    return applied[section].new ?? {};
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 422) throw error;
    throw new CommandError(error.body.errors.map(describeError).join("\n"));
  }
};

/** An error in the entry, with the option that set the property. */
const describeError = ({ source, detail }: ApiError["body"]["errors"][number]): string => {
  const property = source?.pointer.split("/")[3] ?? "";
  return `--${property.replace("permissions", "permission").replaceAll("_", "-")}: ${detail}`;
};
