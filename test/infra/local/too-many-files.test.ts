import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync } from "node:fs";
import { Agent, get, type IncomingMessage } from "node:http";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { buffer } from "node:stream/consumers";
import { describe, expect, it } from "vitest";
import { extent } from "../../support/setup/extent.ts";

const root = join(import.meta.dirname, "../../..");
const limit = 100;

/** Starts npm start with few file descriptors. */
const startWithFewFiles = async () => {
  const { PATH = "", NODE_COMPILE_CACHE = "" } = process.env;
  const command = `ulimit -n ${limit}; exec "$0" infra/local/run.ts --port 0 --quiet`;
  const service = spawn("bash", ["-c", command, process.execPath], {
    cwd: root,
    env: { PATH, NODE_COMPILE_CACHE },
    stdio: ["ignore", "pipe", "inherit"],
  });
  for await (const line of createInterface({ input: service.stdout })) {
    const url = /^ready (http:\S+)$/.exec(line)?.[1];
    if (url) return { service, url };
  }
  throw new Error("npm start ended before it was ready.");
};

describe.runIf(process.platform === "linux" && extent !== "sample")(
  "the API reference without a free file descriptor",
  () => {
    it("is served", async () => {
      const { service, url } = await startWithFewFiles();
      const { hostname, port } = new URL(url);
      const agent = new Agent({ keepAlive: true, maxSockets: 1 });
      const ask = async (path: string) => {
        const [response]: IncomingMessage[] = await once(
          get({ hostname, port, path, agent, signal: AbortSignal.timeout(20_000) }),
          "response",
        );
        if (!response) throw new Error("no response");
        return { status: response.statusCode, body: (await buffer(response)).toString() };
      };
      const sockets: Socket[] = [];
      try {
        expect((await ask("/openapi.json")).status).toBe(200);
        for (let open = 0; open < limit && readdirSync(`/proc/${service.pid}/fd`).length < limit; open += 1) {
          sockets.push(connect(Number(port), hostname).on("error", () => {}));
          // Keeps the first connection from being closed as idle.
          await ask("/openapi.json");
        }
        expect(readdirSync(`/proc/${service.pid}/fd`).length).toBeGreaterThanOrEqual(limit);
        const { status, body } = await ask("/docs/");
        expect([status, body]).toEqual([200, expect.stringContaining("<title>Patchbay API reference</title>")]);
      } finally {
        for (const socket of sockets) socket.destroy();
        agent.destroy();
        service.kill();
        if (service.exitCode === null) await once(service, "exit");
      }
    }, 90_000);
  },
);
