import { ApiError } from "../errors.ts";
import type { Result } from "./apply-plan.ts";
import type { SectionName } from "./apply-schema.ts";
import type { Warning } from "./permissions.ts";

/** The results of a file's entries, by their names. */
export type Applied = Readonly<Record<SectionName, Readonly<Record<string, Result>>>> & {
  readonly warnings?: readonly Warning[];
};

/**
 * A transaction failed, or was not begun, after others were written. `applied` is what was written. There is no cause if the stored
 * data had changed, or if the signal ended the writes.
 */
export class PartlyAppliedError extends Error {
  readonly applied: Applied;
  readonly isMendable: boolean;
  constructor(applied: Applied, cause: unknown) {
    const isMendable = cause === undefined || cause instanceof ApiError;
    const advice = " Apply it again to complete it; give entries without an id the id shown here.";
    super(`Only a part of the file is applied.${isMendable ? advice : ""}`, { cause });
    this.applied = applied;
    this.isMendable = isMendable;
  }
}
