import {
  type ApiError,
  asApiError,
  internalError,
  invalid,
  type Problem,
  problemIn,
  serviceUnavailable,
} from "../errors.ts";
import type { Origin } from "../history/record.ts";
import { lambdaResponseBytes } from "../limits.ts";
import { backOff } from "../table/client.ts";
import type { Precondition } from "../table/optimistic-update.ts";
import { type Applied, PartlyAppliedError } from "./applied.ts";
import { type Planned, planFile, type Result } from "./apply-plan.ts";
import { type SectionName, sectionNames } from "./apply-schema.ts";
import type { Warning } from "./permissions.ts";
import { writeAll } from "./transactions.ts";

type Options = {
  readonly dryRun?: boolean;
  readonly sections?: readonly SectionName[] | undefined;
  readonly maxResultBytes?: number;
  /** Called with the version of each existing account, user or API key in the file. */
  readonly precondition?: Precondition | undefined;
  /** Ends the writes between two transactions. If nothing was written, its reason is thrown. */
  readonly signal?: AbortSignal | undefined;
  /** Problems of the file's text that cannot be seen in the document. */
  readonly problems?: readonly Problem[] | undefined;
};

/**
 * Applies a file of accounts, users, API keys, orders and requests. Creates entries that do not exist, and changes those whose `id`
 * (for a key, also `sha256`) exists. A dry run writes nothing. It is an option here, or `dry_run` in the file. Throws 422 with all
 * problems, and writes nothing, if the file is invalid. More than 100 items, or 4 MB, take several transactions.
 */
export const apply = async (document: unknown, origin: Origin, options: Options = {}): Promise<Applied> => {
  const { dryRun = false, sections = sectionNames, maxResultBytes = Number.POSITIVE_INFINITY } = options;
  const { precondition, signal, problems } = options;
  for (let attempt = 1; ; attempt += 1) {
    const { planned, warnings, isDry } = await planFile(document, origin, { sections, dryRun, precondition, problems });
    const all = resultsOf(planned, warnings);
    // If the result could not be returned, nothing is written. It may contain API keys, which are shown only once.
    if (Buffer.byteLength(JSON.stringify(all)) > maxResultBytes)
      throw invalid([
        problemIn("body", "", "constraint.length", "would return a result that is too large: apply it in parts"),
      ]);
    if (isDry) return all;
    const failure = await writeAll(planned, signal);
    if (!failure) return all;
    if (failure.written.length > 0) throw new PartlyAppliedError(resultsOf(failure.written, warnings), failure.cause);
    if (failure.cause) throw failure.cause;
    signal?.throwIfAborted();
    // Stored data changed after it was read, so plan again.
    await backOff(attempt, new Error("Something of the file changed each time."));
  }
};

/** Lambda's limit on a response, less what an error adds to it. */
const maxFunctionResultBytes = lambdaResponseBytes - 65_536;

/** Applies a file. Returns what was applied, and returns an error instead of throwing it. */
export const tryApply = async (
  document: unknown,
  origin: Origin,
  sections?: readonly SectionName[],
): Promise<{ readonly applied?: Applied; readonly error?: ApiError }> => {
  try {
    return { applied: await apply(document, origin, { maxResultBytes: maxFunctionResultBytes, sections }) };
  } catch (error) {
    if (error instanceof PartlyAppliedError) {
      const { applied, isMendable, message } = error;
      return { applied, error: isMendable ? serviceUnavailable(error, message) : internalError(error) };
    }
    return { error: asApiError(error) };
  }
};

const resultsOf = (planned: readonly Planned[], warnings: readonly Warning[]): Applied => {
  const of = (section: SectionName) =>
    Object.fromEntries(planned.flatMap(({ path, result }) => (path[0] === section ? [[path[1], result]] : [])));
  return {
    accounts: of("accounts"),
    users: of("users"),
    keys: of("keys"),
    orders: of("orders"),
    requests: of("requests"),
    ...(warnings.length > 0 && { warnings }),
  };
};

export const countsOf = (applied: Applied | undefined) => {
  const all = sectionNames.flatMap((section) => Object.values(applied?.[section] ?? {}));
  const of = (status: Result["status"]) => all.filter((one) => one.status === status).length;
  return { created: of("created"), changed: of("changed"), unchanged: of("unchanged") };
};
