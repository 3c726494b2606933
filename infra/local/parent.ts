import { readFileSync } from "node:fs";
import { setInterval } from "node:timers";

/**
 * The processes that npm has started this one through. npm passes a signal on to its shell alone, and a shell that does not
 * replace itself by the command (dash, `sh` on Debian and Ubuntu) ends without passing it on; a killed npm tells nobody.
 */

/** The parent of a shell that runs one command, from /proc; undefined where there is none, or another parent. */
const parentOfShell = (pid: number): number | undefined => {
  try {
    if (!/^[^\0]*sh\0-c\0/.test(readFileSync(`/proc/${pid}/cmdline`, "latin1"))) return undefined;
    return Number(/^PPid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "latin1"))?.[1]);
  } catch {
    return undefined;
  }
};

const parents = () => [process.ppid, parentOfShell(process.ppid)].join();

/** Calls `stop` once `npm start`, or its shell, has ended. Whoever starts this process by other means may end before it. */
export const onParentEnd = (stop: () => void): void => {
  if (process.env.npm_lifecycle_event !== "start") return;
  const first = parents();
  const timer = setInterval(() => {
    if (parents() === first) return;
    clearInterval(timer);
    stop();
  }, 250);
  timer.unref();
};
