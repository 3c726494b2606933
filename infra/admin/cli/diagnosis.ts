import { pad, paint, safeLines } from "./output.ts";

/**
 * The result of one check, with a remedy for a fault or a notice. A notice does not change the exit code. A check that depends on a
 * failed one, or on a feature that emulators lack, is skipped.
 */
export type Diagnosis = {
  readonly check: string;
  readonly status: "ok" | "notice" | "FAULT" | "skipped";
  readonly found: string;
  readonly remedy: string | null;
};

export type Verdict = Omit<Diagnosis, "check">;

export const ok = (found: string): Verdict => ({ status: "ok", found, remedy: null });
export const fault = (found: string, remedy: string): Verdict => ({ status: "FAULT", found, remedy });
export const notice = (found: string, remedy: string): Verdict => ({ status: "notice", found, remedy });
export const skipped = (found: string): Verdict => ({ status: "skipped", found, remedy: null });

export const hasFault = (diagnoses: readonly Diagnosis[]): boolean =>
  diagnoses.some(({ status }) => status === "FAULT");

/** Prints each remedy once, even if several checks share it. */
export const printDiagnoses = (diagnoses: readonly Diagnosis[]): void => {
  const printed = new Set<string | null>([null]);
  for (const { check, status, found, remedy } of diagnoses) {
    const text = printed.has(remedy) ? found : `${found}\n${remedy}`;
    printed.add(remedy);
    const lines = safeLines(`${check}: ${text}`).replaceAll("\n", `\n${" ".repeat(9)}`);
    console.log(`${pad(paint(status), 7)}  ${lines}`);
  }
};
