import { clearLine, cursorTo } from "node:readline";

/** What takes longer than this tells how far it is. */
const afterMs = 3_000;

/**
 * Does `work` and tells on stderr, from the fourth second on, how far it is: on a terminal in one line that is rewritten
 * each second, elsewhere in a line every ten seconds.
 */
export const withProgress = async <T>(message: () => string, work: () => Promise<T>): Promise<T> => {
  const started = Date.now();
  const seconds = () => Math.round((Date.now() - started) / 1000);
  let next = afterMs;
  const timer = setInterval(() => {
    if (Date.now() - started < next) return;
    next += process.stderr.isTTY ? 1_000 : 10_000;
    writeStatus(`${message()}, ${seconds()} s`);
  }, 250);
  try {
    return await work();
  } finally {
    clearInterval(timer);
    clearStatus();
  }
};

/** A line of status: on a terminal it takes the place of the one before. */
export const writeStatus = (text: string): void => {
  clearStatus();
  process.stderr.write(process.stderr.isTTY ? text.slice(0, (process.stderr.columns || 80) - 1) : `${text}\n`);
};

/** Removes the line of status from a terminal. */
export const clearStatus = (): void => {
  if (!process.stderr.isTTY) return;
  cursorTo(process.stderr, 0);
  clearLine(process.stderr, 0);
};

/** A number as people write it: 12,345. */
export const count = (value: number): string => value.toLocaleString("en-US");

/** Does what reads the whole table. */
export const readingTable = <T>(work: () => Promise<T>): Promise<T> => withProgress(() => "Reading the table …", work);
