import { clearLine, cursorTo } from "node:readline";

/** When the command began, in the time of `performance.now()`, and how many milliseconds later its next line is due. */
const clock = { began: 0, next: 3_000 };

export const startClock = (began: number): void => {
  Object.assign(clock, { began, next: 3_000 });
};

/**
 * Runs `work` and prints its progress on stderr once the command has taken three seconds: on a terminal in one line that
 * is updated every second, elsewhere in a new line every ten seconds.
 */
export const withProgress = async <T>(
  work: () => Promise<T>,
  message: string | (() => string) = "Reading the table …",
): Promise<T> => {
  const timer = setInterval(() => {
    const elapsed = performance.now() - clock.began;
    if (elapsed < clock.next) return;
    clock.next = elapsed + (process.stderr.isTTY ? 1_000 : 10_000);
    writeStatus(`${typeof message === "string" ? message : message()}, ${Math.round(elapsed / 1000)} s`);
  }, 250);
  try {
    return await work();
  } finally {
    clearInterval(timer);
    clearStatus();
  }
};

/** On a terminal, replaces the previous status line. */
const writeStatus = (text: string): void => {
  clearStatus();
  process.stderr.write(process.stderr.isTTY ? text.slice(0, (process.stderr.columns || 80) - 1) : `${text}\n`);
};

const clearStatus = (): void => {
  if (!process.stderr.isTTY) return;
  cursorTo(process.stderr, 0);
  clearLine(process.stderr, 0);
};

/** `12,345` */
export const formatCount = (value: number): string => value.toLocaleString("en-US");
