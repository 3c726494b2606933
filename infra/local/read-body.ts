import { once } from "node:events";
import type { IncomingMessage } from "node:http";

/** How much of an oversized body is read and discarded, so that the client gets the response instead of a broken connection. */
const maxDiscardedBytes = 64 * 1024 * 1024;
const maxDiscardMs = 10_000;

/** Reads a body of up to `limit` bytes. Returns undefined if it is larger. */
export const readBody = async (incoming: IncomingMessage, limit: number): Promise<Buffer | undefined> => {
  const chunks: Buffer[] = [];
  let length = 0;
  if (Number(incoming.headers["content-length"] ?? 0) > limit) return discard(incoming);
  for await (const chunk of incoming.iterator({ destroyOnReturn: false })) {
    length += chunk.length;
    if (length > limit) return discard(incoming);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, length);
};

const discard = async (incoming: IncomingMessage): Promise<undefined> => {
  let left = maxDiscardedBytes;
  const timer = setTimeout(() => incoming.destroy(), maxDiscardMs);
  incoming.on("data", (chunk: Buffer) => {
    left -= chunk.length;
    if (left < 0) incoming.destroy();
  });
  incoming.resume();
  if (!incoming.readableEnded) await once(incoming, "close").catch(() => undefined);
  clearTimeout(timer);
  return undefined;
};
