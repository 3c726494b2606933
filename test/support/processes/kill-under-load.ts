import { createHash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import * as z from "zod/mini";
import { form } from "../fixtures/attachments.ts";
import type { LocalService } from "./local-service.ts";

/** The writes that a service has confirmed to its clients, to compare with its data after it is killed. */
export type Ledger = {
  /** The attachments that must exist, by id, with the name and the SHA-256 of the file. */
  readonly attachments: Map<string, { readonly name: string; readonly sha256: string }>;
  readonly switches: Set<string>;
  /** The ids that must not exist. */
  readonly deleted: Set<string>;
  /** The ids changed by a request whose response was lost, for which either outcome is correct. */
  readonly uncertain: Set<string>;
  confirmed: number;
  unconfirmed: number;
  /** Responses that no client should get. */
  readonly unexpected: string[];
};

export const newLedger = (): Ledger => ({
  attachments: new Map(),
  switches: new Set(),
  deleted: new Set(),
  uncertain: new Set(),
  confirmed: 0,
  unconfirmed: 0,
  unexpected: [],
});

const sha256 = (content: string) => createHash("sha256").update(content).digest("hex");

export const attachmentPaths = ({ demo }: LocalService) => [
  `/api/v1/requests/${demo.REQUEST}/attachments`,
  `/api/v1/orders/${demo.ORDER}/attachments`,
];

const Created = z.object({ data: z.object({ id: z.string() }) });

type Write = { readonly method: string; readonly path: string; readonly json?: object; readonly body?: FormData };

/** Sends a write; returns the response if it was confirmed, undefined if its outcome is unknown. */
const send = async (service: LocalService, ledger: Ledger, { method, path, json, body }: Write) => {
  const headers = { authorization: `Bearer ${service.demo.KEY}`, "content-type": "application/json" };
  const init = json ? { headers, body: JSON.stringify(json) } : { headers: { authorization: headers.authorization } };
  const response = await fetch(service.url + path, { method, ...init, ...(body && { body }) });
  const text = await response.text();
  if (response.ok) {
    ledger.confirmed += 1;
    return text;
  }
  ledger.unconfirmed += 1;
  if (response.status !== 503) ledger.unexpected.push(`${method} ${path}: ${response.status} ${text}`);
  return undefined;
};

/** The id in the response of a creation. */
const createdId = (text: string) => z.parse(Created, JSON.parse(text)).data.id;

const writeAttachment = async (service: LocalService, ledger: Ledger, path: string, n: number) => {
  const content = `%PDF-1.7 ${crypto.randomUUID()}`;
  const file = new File([content], "loa.pdf", { type: "application/pdf" });
  const created = await send(service, ledger, { method: "POST", path, body: form({}, file) });
  if (!created) return;
  const id = createdId(created);
  ledger.attachments.set(id, { name: "LOA", sha256: sha256(content) });
  if (n % 3 === 0) return;
  ledger.uncertain.add(id);
  const remove = n % 3 === 1;
  const type = path.includes("/requests/") ? "request_attachment" : "order_attachment";
  const change = remove ? { method: "DELETE" } : { method: "PATCH", json: { type, data: { name: "Changed" } } };
  if (!(await send(service, ledger, { ...change, path: `${path}/${id}` }))) return;
  ledger.uncertain.delete(id);
  ledger.attachments.set(id, { name: "Changed", sha256: sha256(content) });
  if (!remove) return;
  ledger.attachments.delete(id);
  ledger.deleted.add(id);
};

const writeSwitch = async (service: LocalService, ledger: Ledger, n: number) => {
  const path = "/api/v1/switches";
  const created = await send(service, ledger, {
    method: "POST",
    path,
    json: { type: "switch", data: { name: crypto.randomUUID() } },
  });
  if (!created) return;
  const id = createdId(created);
  ledger.switches.add(id);
  if (n % 2 === 0) return;
  ledger.uncertain.add(id);
  if (!(await send(service, ledger, { method: "DELETE", path: `${path}/${id}` }))) return;
  ledger.uncertain.delete(id);
  ledger.switches.delete(id);
  ledger.deleted.add(id);
};

/** Writes without a pause until the service is killed. */
const writeUntilGone = async (service: LocalService, ledger: Ledger, writer: number) => {
  const path = attachmentPaths(service)[writer % 2] ?? "";
  try {
    for (let n = writer; ; n += 1)
      await (n % 5 === 0 ? writeSwitch(service, ledger, writer) : writeAttachment(service, ledger, path, n));
  } catch (error) {
    // fetch throws it if the connection breaks or is refused.
    if (!(error instanceof TypeError)) throw error;
    ledger.unconfirmed += 1;
  }
};

/**
 * Lets clients write to a service, and kills it after `afterMs`, but not before it has confirmed a few writes. Returns once all
 * clients have stopped.
 */
export const killUnderLoad = async (service: LocalService, ledger: Ledger, afterMs: number, writers = 6) => {
  const writing = Array.from({ length: writers }, (_, writer) => writeUntilGone(service, ledger, writer));
  const before = ledger.confirmed;
  await sleep(afterMs);
  // On a busy machine the first response may take longer than that.
  for (let waits = 0; ledger.confirmed - before <= 10 && waits < 1_000; waits += 1) await sleep(20);
  await service.kill();
  await Promise.all(writing);
};
