import { createHash } from "node:crypto";
import { createServer } from "node:http";
import { buffer } from "node:stream/consumers";
import { expect, it, onTestFinished } from "vitest";
import { listen } from "../../../infra/local/listen.ts";
import { newOrder } from "../../support/fixtures/orders.ts";
import { addMessagingNumbers } from "../../support/fixtures/tenants.ts";
import { admin, adminJson } from "../../support/requests/admin.ts";
import { checkOut } from "../../support/servers/workflow.ts";

/** What a carrier has logged of a call about an attachment. Of a file, what was in its form. */
type Logged = { status: number; text: string; name?: string; filename?: string; sha256?: string };

/** The file in a form, and what the metadata before it say. */
const partsOf = (form: string) => {
  const [, metadata = "{}", content = ""] = /\r\n\r\n(\{.*?\})\r\n.*?\r\n\r\n(.*)\r\n--/s.exec(form) ?? [];
  const { name, filename } = JSON.parse(metadata);
  return { name, filename, sha256: createHash("sha256").update(content, "latin1").digest("hex") };
};

/** A carrier that gives these answers in turn, and keeps a log of its own. */
const loggingCarrier = async (answers: readonly (readonly [status: number, text: string])[]) => {
  const log: (Logged & { call: string })[] = [];
  const server = createServer(async (incoming, outgoing) => {
    const form = (await buffer(incoming)).toString("latin1");
    const [status, text] = answers[log.length] ?? [599, ""];
    log.push({ call: incoming.method ?? "", status, text, ...(incoming.method === "PUT" && partsOf(form)) });
    outgoing.writeHead(status).end(status === 204 ? undefined : text);
  });
  const { url, close } = await listen(server);
  Object.assign(process.env, { CARRIER_URL: url, CARRIER_TOKEN: "", CARRIER_TIMEOUT_MS: "20000" });
  onTestFinished(() => close());
  return log;
};

it("a dispute: refused, renamed, sent, deleted, kept, withdrawn: each line of the history is what the carrier logged then", async () => {
  const log = await loggingCarrier([
    [422, '{"reason":"The signature is missing."}'],
    [201, '{"stored":1}'],
    [422, "The cart is empty."],
    [403, "Not now. ".repeat(70)],
    [204, ""],
    [200, "{}"],
  ]);
  const order = await newOrder(addMessagingNumbers);
  const attachment = await order.attach(0, "Letter");
  const run = (name: string) => checkOut(order.id, {}, `${name}-${order.id}`);
  await run("refused");
  await order.update(0, attachment, { name: "Letter, signed" });
  await run("sent");
  await order.remove(0, attachment);
  await run("kept");
  await run("done");

  const [request = ""] = order.requests;
  const { events } = await adminJson(["history", "request", request]);
  const decided = events.filter(({ actor }: { actor: { type: string } }) => actor.type === "checkout");
  const calls = log.filter(({ call }) => call !== "POST");
  const names = ["Letter", "Letter, signed", "Letter, signed", "Letter, signed"];
  expect(decided).toEqual(
    calls.map(({ status, text, sha256 }, index) => ({
      id: expect.any(String),
      type: `request_attachment.${["refused", "forwarded", "refused", "withdrawn"][index]}`,
      at: expect.any(String),
      account: order.account,
      actor: { type: "checkout", id: `${["refused", "sent", "kept", "done"][index]}-${order.id}` },
      resource: { type: "request_attachment", id: attachment, version: index === 0 ? 1 : 2 },
      parent: { type: "request", id: request },
      changed: null,
      answer: { status, text: text.slice(0, 500) },
      name: names[index],
      filename: "loa.pdf",
      ...(index === 1 && { file: { bytes: 15, sha256 } }),
      request_id: null,
    })),
  );
  expect(calls.slice(0, 2)).toMatchObject(names.slice(0, 2).map((name) => ({ name, filename: "loa.pdf" })));

  const lines = (await admin(["history", "request", request])).stdout.split("\n").slice(1);
  const printed = lines.filter((line) => line.includes(" checkout "));
  for (const [index, { status, text, sha256 }] of calls.entries())
    for (const part of [names[index] ?? "", "loa.pdf", `${status} ${text.slice(0, 490)}`, index === 1 ? sha256 : ""])
      expect(printed[index]).toContain(part?.trimEnd());

  const why = `The attachment ${attachment} of the request ${request} was refused by the carrier, not`;
  const failed = [
    `${why} withdrawn: 403 ${"Not now. ".repeat(70).slice(0, 500)}`,
    "The carrier refused to check the cart out: 422 The cart is empty.",
    `${why} forwarded: 422 {"reason":"The signature is missing."}`,
  ];
  const { runs } = await adminJson(["order", "show", order.id]);
  expect(runs).toEqual(
    ["done", "kept", "sent", "refused"].map((name, index) => ({
      run: `${name}-${order.id}`,
      status: index === 0 ? "SUCCEEDED" : "FAILED",
      ended_at: expect.any(String),
      reason: failed[index - 1] ?? null,
    })),
  );
  const [shown = ""] = (await admin(["order", "show", order.id])).stdout.split("Attachments of the order");
  for (const reason of failed) expect(shown).toContain(reason);
});
