import { type PoolOptions, type PoolWorker, ThreadsPoolWorker } from "vitest/node";

/** Threads whose run has ended. They keep the AWS SDK, which takes longer to load than most tests take. */
const idle: ThreadsPoolWorker[] = [];
const runsOf = new WeakMap<ThreadsPoolWorker, number>();

/** A thread ends after this many runs, with the servers that its tests have started. */
const mostRuns = 30;

/** A thread that stays for the next mutant. It reloads only the project's own modules, as Vitest does between isolated files. */
export const keptThread = (options: PoolOptions): PoolWorker => {
  const thread = idle.pop() ?? new ThreadsPoolWorker(options);
  const listeners: Parameters<PoolWorker["on"]>[] = [];
  return {
    name: "kept thread",
    start: async () => {
      const runs = runsOf.get(thread) ?? 0;
      if (runs === 0) await thread.start();
      runsOf.set(thread, runs + 1);
    },
    send: (message) => {
      if (message.type !== "stop") return thread.send(message);
      const stopped = { type: "stopped", __vitest_worker_response__: true };
      for (const [event, callback] of [...listeners]) if (event === "message") callback(stopped);
    },
    on: (event, callback) => {
      listeners.push([event, callback]);
      thread.on(event, callback);
    },
    off: (event, callback) => thread.off(event, callback),
    deserialize: (data) => data,
    stop: async () => {
      for (const [event, callback] of listeners) thread.off(event, callback);
      if ((runsOf.get(thread) ?? 0) < mostRuns) idle.push(thread);
      else await thread.stop();
    },
  };
};
