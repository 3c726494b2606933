import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";

/** Starts a service that can be killed, on the table and the bucket of the environment. */
const startCrashChild = async () => {
  const child = spawn(process.execPath, [join(import.meta.dirname, "gateway-process.ts")], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = once(child, "exit");
  const [line] = await once(child.stdout, "data");
  return {
    url: String(line).trim(),
    /** At once, whatever it is doing. */
    kill: async () => {
      child.kill("SIGKILL");
      await ended;
    },
  };
};

/** One service after another, the next one started while this one is at work. */
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
