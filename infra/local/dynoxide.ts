import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { findDynoxide } from "./dynoxide-binary.ts";
import { blockedPorts, isFree } from "./listen.ts";

export type DynoxideOptions = {
  /** The database file. Without it, data are in memory, and lost when dynoxide exits. */
  readonly dbPath?: string | undefined;
  /** Called when dynoxide has exited unexpectedly and is not restarted. */
  readonly onEnd?: ((error: Error) => void) | undefined;
};

const root = join(import.meta.dirname, "../..");

/** The maximum number of restarts within a minute. */
const maxRestarts = 3;

/** Chooses a port that browsers refuse, because dynoxide would let web pages read and write. macOS has only one loopback address. */
const freeAddress = async (platform: NodeJS.Platform) => {
  const host = platform === "darwin" ? "127.0.0.1" : `127.${randomBytes(3).join(".")}`;
  for (const port of blockedPorts) if (await isFree(host, port)) return { host, port };
  throw new Error(`The embedded DynamoDB needs one of these ports: ${blockedPorts.join(", ")}. All are in use.`);
};

/** Kills a child when this process exits, even by `kill -9`, because that closes the watcher's pipe. Windows does this by itself. */
const killWithParent = (pid: number): (() => void) => {
  if (process.platform === "win32") return () => {};
  const watcher = spawn("/bin/sh", ["-c", 'read -r _; kill -9 "$0"', String(pid)], {
    stdio: ["pipe", "ignore", "ignore"],
    detached: true,
  });
  watcher.on("error", () => {});
  return () => watcher.kill("SIGKILL");
};

/** Starts the binary in its own process group, so that Ctrl-C does not reach it before this process can stop it. */
const run = (binary: string, args: readonly string[]) => {
  const child = spawn(binary, args, { stdio: ["ignore", "ignore", "pipe"], detached: process.platform !== "win32" });
  const stopWatching = child.pid === undefined ? () => {} : killWithParent(child.pid);
  const onExit = () => child.kill("SIGKILL");
  process.once("exit", onExit);
  let output = "";
  child.stderr?.on("data", (chunk) => {
    output = `${output}${chunk}`.slice(-2_000);
  });
  /** Resolves with dynoxide's error message, or its signal or exit code. */
  const exited = new Promise<string>((resolve) => {
    child.once("error", (error) => resolve(error.message));
    child.once("close", (code, signal) => {
      stopWatching();
      process.removeListener("exit", onExit);
      const message = output.replaceAll(/^(error: |Dynoxide listening.*)/gm, "").trim();
      resolve(message || (signal ? `by ${signal}` : `with exit code ${code}`));
    });
  });
  return { child, exited };
};

export const startDynoxide = async ({ dbPath, onEnd }: DynoxideOptions) => {
  const { platform, arch, env } = process;
  const binary = await findDynoxide({ root, platform, arch, env });
  const { host, port } = await freeAddress(platform);
  const args = ["--host", host, "--port", String(port), ...(dbPath === undefined ? [] : ["--db-path", dbPath])];
  let [running, stopped] = [run(binary, args), false];
  return {
    url: `http://${host}:${port}`,
    /** Rejects when dynoxide exits. */
    failed: running.exited.then((reason) => Promise.reject(new Error(reason))),
    /** Restarts dynoxide when it exits. If it keeps exiting, calls `onEnd`. */
    keepRunning: async () => {
      for (const restarts: number[] = []; ; restarts.push(performance.now())) {
        const reason = await running.exited;
        if (stopped) return;
        if (restarts.filter((at) => performance.now() - at < 60_000).length >= maxRestarts)
          return onEnd?.(new Error(`The embedded DynamoDB keeps exiting (${reason}).`));
        console.error(`The embedded DynamoDB has exited (${reason}) and is restarted.`);
        running = run(binary, args);
      }
    },
    close: async () => {
      stopped = true;
      running.child.kill("SIGKILL");
      await running.exited;
    },
  };
};
