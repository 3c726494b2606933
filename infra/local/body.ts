import { once } from "node:events";
import type { IncomingMessage } from "node:http";

/** How much of a body that is too large is still read, so that its sender gets the response and not a broken connection. */
const drainBytes = 64 * 1024 * 1024;
const drainMs = 10_000;

/** Reads a body of at most `limit` bytes. Returns undefined for a larger one, and keeps nothing of it. */
export const readBody = async (incoming: IncomingMessage, limit: number): Promise<Buffer | undefined> => {
  const chunks: Buffer[] = [];
  let length = 0;
  if (Number(incoming.headers["content-length"] ?? 0) > limit) return drain(incoming);
  for await (const chunk of incoming.iterator({ destroyOnReturn: false })) {
    length += chunk.length;
    if (length > limit) return drain(incoming);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, length);
};

const drain = async (incoming: IncomingMessage): Promise<undefined> => {
  let left = drainBytes;
  const timer = setTimeout(() => incoming.destroy(), drainMs);
  incoming.on("data", (chunk: Buffer) => {
    left -= chunk.length;
    if (left < 0) incoming.destroy();
  });
  incoming.resume();
  if (!incoming.readableEnded) await once(incoming, "close").catch(() => undefined);
  clearTimeout(timer);
  return undefined;
};
