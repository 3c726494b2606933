import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";

/** Starts a service that can be killed, on the table and the bucket of the environment. */
const startVictim = async () => {
  const child = spawn(process.execPath, [join(import.meta.dirname, "gateway-process.ts")], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = once(child, "exit");
  const [line] = await once(child.stdout, "data");
  return {
    url: String(line).trim(),
    /** Without a word, in the midst of whatever it does. */
    kill: async () => {
      child.kill("SIGKILL");
      await ended;
    },
  };
};

/** One service after another, the next one started while this one is at work. */
export const victims = () => {
  let next = startVictim();
  return {
    take: async () => {
      const taken = await next;
      next = startVictim();
      return taken;
    },
    end: async () => (await next).kill(),
  };
};
