import { type PoolOptions, type PoolWorker, ThreadsPoolWorker } from "vitest/node";

/** Threads whose run has ended. They have loaded the AWS SDK, which takes more time than most tests. */
const idle: ThreadsPoolWorker[] = [];
const started = new WeakSet<ThreadsPoolWorker>();

/** A thread that stays for the next mutant. Only our own modules are loaded anew, as Vitest does between isolated files. */
export const keptThread = (options: PoolOptions): PoolWorker => {
  const thread = idle.pop() ?? new ThreadsPoolWorker(options);
  const listeners: Parameters<PoolWorker["on"]>[] = [];
  return {
    name: "kept thread",
    start: async () => {
      if (!started.has(thread)) await thread.start();
      started.add(thread);
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
      idle.push(thread);
    },
  };
};
