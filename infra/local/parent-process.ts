import { readFileSync } from "node:fs";
import { setInterval } from "node:timers";

/**
 * Returns the parent of a shell that runs a command (`sh -c`), from /proc. Returns undefined for any other process, or without
 * /proc.
 */
const parentOfShell = (pid: number): number | undefined => {
  try {
    if (!/^[^\0]*sh\0-c\0/.test(readFileSync(`/proc/${pid}/cmdline`, "latin1"))) return undefined;
    return Number(/^PPid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "latin1"))?.[1]);
  } catch {
    return undefined;
  }
};

/** infra/node.js names the parent of an older Node that runs this one. */
const parents = () => [process.ppid, parentOfShell(Number(process.env.PATCHBAY_PARENT ?? process.ppid))].join();

/**
 * Calls `stop` when `npm start` or its shell exits. npm passes a signal on only to its shell, and dash, which is `sh` on Debian and
 * Ubuntu, exits without passing it on. If npm is killed, it passes on nothing.
 */
export const onParentExit = (stop: () => void): void => {
  if (process.env.npm_lifecycle_event !== "start") return;
  const first = parents();
  const timer = setInterval(() => {
    if (parents() === first) return;
    clearInterval(timer);
    stop();
  }, 250);
  timer.unref();
};
