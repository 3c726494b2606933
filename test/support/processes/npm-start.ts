import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";

const root = join(import.meta.dirname, "../../..");

/** Starts the local service as `npm start` does, on a free port, with only the compile cache of the tests' environment. */
export const startDemo = async () => {
  const { PATH = "", NODE_COMPILE_CACHE = "" } = process.env;
  const demo = spawn(process.execPath, ["infra/local/run.ts", "--port", "0", "--quiet"], {
    cwd: root,
    env: { PATH, NODE_COMPILE_CACHE },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const stop = async () => {
    demo.kill();
    if (demo.exitCode === null) await once(demo, "exit");
  };
  for await (const line of createInterface({ input: demo.stdout })) {
    const url = /^ready (http:\S+)$/.exec(line)?.[1];
    if (url) return { url, stop };
  }
  throw new Error("npm start ended before it was ready.");
};
