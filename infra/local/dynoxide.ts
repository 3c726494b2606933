import { type ChildProcess, spawn } from "node:child_process";
import { createServer } from "node:net";
import { join } from "node:path";
import { findDynoxide } from "./dynoxide-binary.ts";

/** A part of the local stack: its address, and how to stop it. */
export type Part = { readonly endpoint: string; readonly stop: () => Promise<void> };

export type DynoxideOptions = {
  /** The file of its data; in memory without one. */
  readonly dbPath?: string | undefined;
  /** Called when it has ended unexpectedly and is not started again. */
  readonly onEnd?: ((error: Error) => void) | undefined;
};

const root = join(import.meta.dirname, "../..");

/** Dynoxide is started again as often as this within a minute. */
const maxRestarts = 3;

const freePort = (): Promise<number> =>
  new Promise((resolve, reject) => {
    const server = createServer().once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => resolve(typeof address === "object" && address ? address.port : 0));
    });
  });

/**
 * Kills a process when this one has ended, even by `kill -9`: its input is a pipe from here, which only then is at its
 * end. Windows ends child processes with their parent by itself.
 */
const killAfterUs = (pid: number): (() => void) => {
  if (process.platform === "win32") return () => {};
  const watcher = spawn("/bin/sh", ["-c", 'read -r _; kill -9 "$0"', String(pid)], {
    stdio: ["pipe", "ignore", "ignore"],
    detached: true,
  });
  watcher.on("error", () => {});
  return () => watcher.kill("SIGKILL");
};

type Running = {
  readonly child: ChildProcess;
  /** Resolves with how it ended, in its own words. */
  readonly ended: Promise<string>;
};

/** In a process group of its own: Ctrl-C reaches this process alone, which then stops it. */
const run = (binary: string, args: readonly string[]): Running => {
  const child = spawn(binary, args, { stdio: ["ignore", "ignore", "pipe"], detached: process.platform !== "win32" });
  const stopWatching = child.pid === undefined ? () => {} : killAfterUs(child.pid);
  const onExit = () => child.kill("SIGKILL");
  process.once("exit", onExit);
  let words = "";
  child.stderr?.on("data", (chunk) => {
    words = `${words}${chunk}`.slice(-2_000);
  });
  const ended = new Promise<string>((resolve) => {
    child.once("error", (error) => resolve(error.message));
    child.once("close", (code, signal) => {
      stopWatching();
      process.removeListener("exit", onExit);
      const own = words.replaceAll(/^(error: |Dynoxide listening.*)/gm, "").trim();
      resolve(own || (signal ? `by ${signal}` : `with exit code ${code}`));
    });
  });
  return { child, ended };
};

const lost = (how: string) =>
  new Error(`The embedded DynamoDB has ended (${how}), and the data in its memory with it: start again.`);
const endsAgain = (how: string) => new Error(`The embedded DynamoDB ends again and again (${how}).`);

/** Starts dynoxide on a free port. */
export const startDynoxide = async ({ dbPath, onEnd }: DynoxideOptions) => {
  const { platform, arch, env } = process;
  const binary = await findDynoxide({ root, platform, arch, env });
  const port = await freePort();
  const args = ["--host", "127.0.0.1", "--port", String(port), ...(dbPath === undefined ? [] : ["--db-path", dbPath])];
  let [running, stopped] = [run(binary, args), false];
  return {
    endpoint: `http://127.0.0.1:${port}`,
    /** Rejects, in dynoxide's own words, when it ends. */
    failed: running.ended.then((how) => Promise.reject(new Error(how))),
    /** Starts it again whenever it ends, if its data are in a file; without them there is nothing left to serve. */
    keepRunning: async () => {
      for (const restarts: number[] = []; ; restarts.push(performance.now())) {
        const how = await running.ended;
        if (stopped) return;
        if (dbPath === undefined) return onEnd?.(lost(how));
        if (restarts.filter((at) => performance.now() - at < 60_000).length >= maxRestarts)
          return onEnd?.(endsAgain(how));
        console.error(`The embedded DynamoDB has ended (${how}): it is started again.`);
        running = run(binary, args);
      }
    },
    stop: async () => {
      stopped = true;
      running.child.kill("SIGKILL");
      await running.ended;
    },
  };
};
