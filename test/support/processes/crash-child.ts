import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";

/** Starts a service that can be killed, with the environment's table and bucket. */
const startCrashChild = async () => {
  const child = spawn(process.execPath, [join(import.meta.dirname, "gateway-process.ts")], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = once(child, "exit");
  const [line] = await once(child.stdout, "data");
  return {
    url: String(line).trim(),
    kill: async () => {
      child.kill("SIGKILL");
      await ended;
    },
  };
};

/** Provides one service after another, and starts the next one in advance. */
export const crashChildren = () => {
  let next = startCrashChild();
  return {
    take: async () => {
      const taken = await next;
      next = startCrashChild();
      return taken;
    },
    end: async () => (await next).kill(),
  };
};
