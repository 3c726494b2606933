import { createHash } from "node:crypto";
import { createServer } from "node:http";
import { buffer } from "node:stream/consumers";
import { expect, it, onTestFinished } from "vitest";
import { listen } from "../../../infra/local/listen.ts";
import { newOrder } from "../../support/fixtures/orders.ts";
import { addMessagingNumbers } from "../../support/fixtures/tenants.ts";
import { admin, adminJson } from "../../support/requests/admin.ts";
import { checkOut } from "../../support/servers/workflow.ts";

/** A call in the carrier's log. `sent` describes the form of the PUT. For a DELETE, it describes that of the last PUT. */
type Logged = {
  readonly method: string;
  readonly request: string;
  readonly attachment: string;
  readonly sent: { readonly name: string; readonly filename: string; readonly bytes: number; readonly sha256: string };
  readonly status: number;
  readonly text: string;
};

/** The metadata and the file in a form. */
const partsOf = (form: string) => {
  const [, metadata = "{}", content = ""] = /\r\n\r\n(\{.*?\})\r\n.*?\r\n\r\n(.*)\r\n--/s.exec(form) ?? [];
  const { name, filename } = JSON.parse(metadata);
  const sha256 = createHash("sha256").update(content, "latin1").digest("hex");
  return { name, filename, bytes: content.length, sha256 };
};

/** Starts a carrier that keeps its own log. It refuses each of these calls (such as `PUT 01J…`) once, with a status and a text. */
const loggingCarrier = async (refusals: Map<string, [status: number, text: string]>) => {
  const log: Logged[] = [];
  const server = createServer(async (incoming, outgoing) => {
    const { method = "", url = "" } = incoming;
    const form = (await buffer(incoming)).toString("latin1");
    const [request = "", attachment = ""] = url
      .split("/")
      .filter((part) => /^\w{26}$/.test(part))
      .slice(1);
    const call = `${method} ${attachment}`.trim();
    const done = { reason: `Case ${log.length}.`, notes: "repeated", checked_out: true };
    const [status, said] = refusals.get(call) ?? [200, JSON.stringify(done)];
    refusals.delete(call);
    const before = log.findLast((one) => one.request === request && one.attachment === attachment);
    const sent = method === "DELETE" && before ? before.sent : partsOf(form);
    // A success keeps only its reason.
    log.push({ method, request, attachment, sent, status, text: status < 300 ? done.reason : said });
    outgoing.writeHead(status).end(said);
  });
  const { url, close } = await listen(server);
  Object.assign(process.env, { CARRIER_URL: url, CARRIER_TOKEN: "", CARRIER_TIMEOUT_MS: "20000" });
  onTestFinished(() => close());
  return log;
};

/** The expected event of a call, and its expected line in the history. */
const evidenceOf = ({ method, sent, status, text }: Logged, type: string) => {
  const { name, filename, bytes, sha256 } = sent;
  const action = method === "PUT" ? "forwarded" : "withdrawn";
  const isDone = status < 300;
  const file = action === "forwarded" && isDone ? { bytes, sha256 } : undefined;
  const answer = { status, text: text.slice(0, 500) };
  const result = isDone ? { type: `${type}.${action}` } : { type: `${type}.refused`, reason: `not ${action}` };
  return {
    event: { ...result, name, filename, answer, ...(file && { file }) },
    line: new RegExp(`  ${result.type}  .*  ${name}  `),
    file: new RegExp(`^\\w{26}  ${name} +${filename} +${file ? `${bytes} +${sha256}` : "- +-"}$`, "m"),
    end: `  ${isDone ? "" : `not ${action}: `}${status} ${answer.text.trimEnd()}`,
  };
};

it("a dispute: refused, renamed, sent, deleted, kept, withdrawn: the history says what the carrier has logged", async () => {
  const refusals = new Map<string, [status: number, text: string]>();
  const log = await loggingCarrier(refusals);
  const order = await newOrder(addMessagingNumbers, addMessagingNumbers);
  const letter = await order.attach(0, "Letter");
  const terms = await order.attach("order", "Terms");
  const bill = await order.attach(1, "Bill");
  const first = new Map([
    [letter, "Letter"],
    [terms, "Terms"],
    [bill, "Bill"],
  ]);
  const run = (name: string) => checkOut(order.id, {}, `${name}-${order.id}`);
  refusals.set(`PUT ${letter}`, [422, '{"reason":"The signature is missing."}']);
  await run("refused");
  await order.update(0, letter, { name: "Letter, signed" });
  await order.update("order", terms, { name: "Terms of May" });
  refusals.set("POST", [422, '{"reason":"The cart is empty."}']);
  await run("sent");
  await order.remove(0, letter);
  refusals.set(`DELETE ${letter}`, [403, `{"reason":"${"Not now. ".repeat(70)}"}`]);
  await run("kept");
  await run("done");
  await order.update("order", terms, { name: "Terms of June" });
  await order.remove("order", terms);
  await order.update(1, bill, { name: "Bill of June" });

  for (const request of order.requests) {
    const { events } = await adminJson(["history", "request", request]);
    const { stdout } = await admin(["history", "request", request]);
    const [history = "", files = ""] = stdout.split("\n\nFiles that were sent or deleted\n");
    const lines = history.split("\n").slice(1);
    expect(lines).toHaveLength(events.length);
    for (const attachment of [letter, terms, bill]) {
      const isItsDecision = ({ actor, resource }: { actor: { type: string }; resource: { id: string } }) =>
        actor.type === "checkout" && resource.id === attachment;
      const own = events.filter(isItsDecision);
      const type = attachment === terms ? "order_attachment" : "request_attachment";
      const logged = log.filter((one) => one.request === request && one.attachment === attachment);
      const expected = logged.map((one) => evidenceOf(one, type));
      expect(own).toEqual(
        expected.map(({ event }) => ({
          id: expect.any(String),
          at: expect.any(String),
          account: order.account,
          actor: { type: "checkout", id: expect.stringContaining(order.id) },
          resource: { type, id: attachment, version: event.name === first.get(attachment) ? 1 : 2 },
          parent: { type: "request", id: request },
          changed: null,
          request_id: null,
          ...event,
        })),
      );
      for (const [index, { line, file, end }] of expected.entries()) {
        expect(files).toMatch(file);
        const printed = lines[events.indexOf(own[index])] ?? "";
        expect(printed).toMatch(line);
        expect(printed.endsWith(end), printed).toBe(true);
      }
    }
  }
  const ofLetter = log.filter(({ attachment }) => attachment === letter);
  expect(ofLetter.map(({ method, status, sent }) => [method, status, sent.name])).toEqual([
    ["PUT", 422, "Letter"],
    ["PUT", 200, "Letter, signed"],
    ["DELETE", 403, "Letter, signed"],
    ["DELETE", 200, "Letter, signed"],
  ]);

  const why = `The attachment ${letter} of the request ${order.requests[0]} was refused by the carrier, not`;
  const failed = [
    `${why} withdrawn: 403 ${`{"reason":"${"Not now. ".repeat(70)}`.slice(0, 500)}`,
    'The carrier refused to check the cart out: 422 {"reason":"The cart is empty."}',
    `${why} forwarded: 422 {"reason":"The signature is missing."}`,
  ];
  const { runs, requests } = await adminJson(["order", "show", order.id]);
  expect(runs).toEqual(
    ["done", "kept", "sent", "refused"].map((name, index) => ({
      run: `${name}-${order.id}`,
      status: index === 0 ? "SUCCEEDED" : "FAILED",
      ended_at: expect.any(String),
      reason: failed[index - 1] ?? null,
    })),
  );
  // The order and each request show what the carrier has, although all of it was changed or deleted since.
  const shown = (await admin(["order", "show", order.id])).stdout;
  for (const reason of failed) expect(shown.split("Attachments of the order")[0]).toContain(reason);
  expect(shown.split("Last events")[1]).toContain("  order_attachment.deleted  ");
  expect(shown).toMatch(/\nthe carrier lacks +1 attachment that was added or changed too late\n/);
  expect(shown).toMatch(/\nthe carrier still has +1 attachment that was deleted too late\n/);
  for (const { id, attachments } of requests) {
    const ofRequest = (await admin(["request", "show", id])).stdout;
    for (const { id: attachment, receipt } of attachments) {
      const { sent, status, text } = log.findLast((one) => one.request === id && one.attachment === attachment) ?? {};
      const row = `${attachment}  ${sent?.name} +${sent?.filename} .* ${receipt.state} .* ${sent?.bytes} +${sent?.sha256} +${status} `;
      for (const output of [shown, ofRequest]) expect(output).toMatch(new RegExp(row));
      expect(receipt.answer).toBe(text);
    }
  }
});
