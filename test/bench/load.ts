import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import autocannon from "autocannon";
import * as z from "zod/mini";
import { round, type Section } from "./figures.ts";

const Place = z.object({ url: z.string(), key: z.string(), request: z.string() });
const Memory = z.object({ rss: z.number() });

const rssOf = async (child: ChildProcess) => {
  const message = once(child, "message");
  child.send("rss");
  return z.parse(Memory, (await message)[0]).rss / 1e6;
};

/** Sends nine reads for each write, from 50 concurrent clients. */
const fire = ({ url, key, request }: z.infer<typeof Place>, seconds: number) => {
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  const create = {
    method: "POST" as const,
    path: "/api/v1/switches",
    setupRequest: (one: autocannon.Request) => ({
      ...one,
      body: JSON.stringify({ type: "switch", data: { name: crypto.randomUUID() } }),
    }),
  };
  const reads = ["/api/v1/switches?first=10", `/api/v1/requests/${request}/attachments`].map((path) => ({
    method: "GET" as const,
    path,
  }));
  const requests = [...Array.from({ length: 9 }, (_, index) => reads[index % 2] ?? create), create];
  return autocannon({ url, connections: 50, duration: seconds, headers, requests });
};

/** Measures the service under 50 concurrent clients, compared with bare handlers behind the same gateway. */
export const load = async (seconds: number): Promise<Section> => {
  const rows: Record<string, string | number>[] = [];
  for (const mode of ["ours", "bare"]) {
    const child = fork(join(import.meta.dirname, "load-server.ts"), [mode]);
    const place = z.parse(Place, (await once(child, "message"))[0]);
    await fire(place, seconds / 4);
    const before = await rssOf(child);
    const { requests, latency, errors, timeouts, non2xx } = await fire(place, seconds);
    const after = await rssOf(child);
    child.disconnect();
    await once(child, "exit");
    rows.push({
      service: mode,
      "requests a second": round(requests.average, 0),
      "p50 ms": latency.p50,
      "p99 ms": latency.p99,
      errors: errors + timeouts + non2xx,
      "MB at start": round(before, 0),
      "MB at end": round(after, 0),
    });
  }
  return {
    title: `Load: 50 clients for ${seconds} s`,
    notes: [
      "Each server is one process. The embedded DynamoDB and the clients run on the same machine. Memory at the start is taken after",
      "a quarter of that time under the same load, when the heap has grown to the size that the load needs.",
    ],
    rows,
  };
};
