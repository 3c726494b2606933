import { clearLine, cursorTo } from "node:readline";

/** When the next line is due, in milliseconds since the command began. */
let next = 3_000;

/**
 * Does `work` and says on stderr, from the command's fourth second on, how far it is: on a terminal in one line that is
 * rewritten each second, elsewhere in a line every ten seconds.
 */
export const withProgress = async <T>(message: () => string, work: () => Promise<T>): Promise<T> => {
  const timer = setInterval(() => {
    // Since the command began.
    const elapsed = performance.now();
    if (elapsed < next) return;
    next = elapsed + (process.stderr.isTTY ? 1_000 : 10_000);
    writeStatus(`${message()}, ${Math.round(elapsed / 1000)} s`);
  }, 250);
  try {
    return await work();
  } finally {
    clearInterval(timer);
    clearStatus();
  }
};

/** A line of status: on a terminal it takes the place of the one before. */
const writeStatus = (text: string): void => {
  clearStatus();
  process.stderr.write(process.stderr.isTTY ? text.slice(0, (process.stderr.columns || 80) - 1) : `${text}\n`);
};

/** Removes the line of status from a terminal. */
const clearStatus = (): void => {
  if (!process.stderr.isTTY) return;
  cursorTo(process.stderr, 0);
  clearLine(process.stderr, 0);
};

/** A number as people write it: 12,345. */
export const count = (value: number): string => value.toLocaleString("en-US");

/** Does what reads the whole table. */
export const readingTable = <T>(work: () => Promise<T>): Promise<T> => withProgress(() => "Reading the table …", work);
