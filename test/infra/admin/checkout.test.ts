import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { type ExecutionStatus, ListExecutionsCommand, SFNClient } from "@aws-sdk/client-sfn";
import { describe, expect, inject, it, vi } from "vitest";
import { progressOf } from "../../../infra/admin/orders/checkout.ts";
import { orderReport } from "../../../infra/admin/orders/report.ts";
import { startCheckout, waitForCheckout } from "../../../infra/admin/orders/start-checkout.ts";
import { beginRun, updateRun } from "../../../shared/checkout/checkout-run.ts";
import type { CheckoutRun } from "../../../shared/checkout/checkout-schema.ts";
import { receiptsOf } from "../../../shared/checkout/plan.ts";
import { replaceReceipt } from "../../../shared/checkout/receipts.ts";
import { keys } from "../../../shared/table/keys.ts";
import { get } from "../../../shared/table/read.ts";
import { apply } from "../../support/fixtures/apply.ts";
import { attachmentOf, form, pdf } from "../../support/fixtures/attachments.ts";
import { newOrder } from "../../support/fixtures/orders.ts";
import { storeRun } from "../../support/fixtures/runs.ts";
import { newSwitch } from "../../support/fixtures/switches.ts";
import { addMessagingNumbers, tenants } from "../../support/fixtures/tenants.ts";
import { admin, adminJson } from "../../support/requests/admin.ts";
import { call } from "../../support/requests/client.ts";
import { exhaustive } from "../../support/setup/extent.ts";

/** Runs a command, and sends Ctrl-C once its stderr matches. */
const interrupted = async (args: readonly string[], after: RegExp) => {
  const child = spawn(process.execPath, [join(import.meta.dirname, "../../../infra/admin/admin.ts"), ...args]);
  let stderr = "";
  child.stderr.on("data", (chunk) => {
    stderr += chunk;
    if (after.test(stderr)) child.kill("SIGINT");
  });
  const [code] = await once(child, "close");
  return { code, stderr };
};

const misbehave = (fault: object) =>
  fetch(`${inject("environment").CARRIER_URL}/faults`, { method: "POST", body: JSON.stringify(fault) });

/** Makes the carrier refuse attachments of this order `times` times. */
const refuse = (order: string, times = 1) =>
  misbehave({ method: "PUT", path: order, action: "status", status: 422, times });

describe("order checkout and order show", () => {
  it("start the checkout, wait for its end, show what the carrier has, and start no other", async () => {
    const order = await newOrder(addMessagingNumbers, "PORT_IN");
    const attachment = await order.attach(0, "My LOA");
    const shown = async () => (await admin(["order", "show", order.id])).stdout;
    const line = `${attachment} +My LOA +loa.pdf +request +`;
    expect(await shown()).toMatch(new RegExp(`state +CART\n[\\s\\S]*${line}pending`));
    const checkout = ["order", "checkout", order.id.toLowerCase(), "--wait"];
    const end = { run: `checkout-${order.id}-1`, status: "SUCCEEDED" };
    expect(await adminJson(checkout)).toEqual({ ...end, reason: null });
    expect(await shown()).toMatch(new RegExp(`state +CHECKED_OUT\n[\\s\\S]*${line}forwarded`));
    const [request = ""] = order.requests;
    expect(await adminJson(["request", "show", request])).toMatchObject({
      id: request,
      attachments: [{ id: attachment, of: "request", receipt: { state: "forwarded", status: 201 } }],
    });
    expect(await adminJson(checkout)).toEqual({ ...end, reason: "The order is already checked out." });
    await order.attach(0);
    await order.attach(0);
    expect(await shown()).toMatch(/\nthe carrier lacks +2 attachments that were added or changed too late\nnot /);
  });

  it("exit with 1 and the reason if the carrier refuses, and can be repeated", async () => {
    const order = await newOrder(addMessagingNumbers);
    const attachment = await order.attach("order");
    await refuse(order.id);
    const failed = await admin(["order", "checkout", order.id, "--wait"]);
    expect(failed.code).toBe(1);
    expect(failed.stdout).toMatch(new RegExp(`FAILED\n.*${attachment}.*422`));
    expect(failed.stderr).toContain(`replaced what was refused, \`order checkout ${order.id}\` forwards it.\n`);
    expect((await admin(["order", "show", order.id])).stdout).toMatch(/state +CART\n[\s\S]* refused +20\S+ .* 422 \{/);
    expect((await admin(["order", "checkout", order.id, "--wait"])).code).toBe(0);
    await order.attach(0);
    const { account, id, runs } = await adminJson(["order", "show", order.id]);
    expect(runs).toMatchObject([
      { run: `checkout-${id}-2`, status: "SUCCEEDED", reason: null },
      {
        run: `checkout-${id}-1`,
        status: "FAILED",
        reason: expect.stringMatching(/was refused .*, not forwarded: 422/),
      },
    ]);
    expect(await adminJson(["order", "list", "--account", account])).toEqual([
      {
        id,
        account,
        state: "CHECKED_OUT",
        last_run: "SUCCEEDED",
        failure: null,
        ended_at: runs[0].ended_at,
        attachments: 2,
      },
    ]);
  });
});

describe("orders whose run waits", () => {
  it("are listed newest first: for what, in the carrier's words, and until when", async () => {
    const orders = await Promise.all([1, 2].map(() => newOrder(addMessagingNumbers)));
    const next_try_at = new Date(Date.now() + 60_000).toISOString();
    const last_answer = "it responded with 429: people review letters until Monday";
    const expected = orders.map(({ id, account }, nth) => {
      const [run, started_at] = [`waits-${id}`, new Date(Date.now() - 20_000 * nth).toISOString()];
      return { id, account, run, started_at, attempt: 2, next_try_at, last_answer };
    });
    for (const { id, run, started_at } of expected) {
      await beginRun({ order_id: id, run }, new Date());
      await storeRun(id, { run, started_at, status: "RUNNING", next_try_at, last_answer });
    }
    const listed = async (...options: string[]) => {
      const rows: { id: string }[] = await adminJson(["order", "list", "--waiting", ...options]);
      return rows.filter(({ id }) => orders.some((one) => one.id === id));
    };
    expect(await listed()).toEqual(expected);
    expect(await listed("--since", new Date(Date.now() - 10_000).toISOString())).toEqual(expected.slice(0, 1));
    expect(await listed("--account", expected[1]?.account ?? "")).toEqual(expected.slice(1));
    for (const [args, said] of [
      [["--waiting", "--late"], "are different lists: pass one of them."],
      [["--since", "2h"], "--since needs --failed, --waiting or --late."],
      [["--waiting", "--since", "2 weeks"], "It must be an ISO 8601 date and time"],
    ] as const) {
      const { code, stderr } = await admin(["order", "list", ...args]);
      expect([code, stderr], said).toEqual([2, expect.stringContaining(said)]);
    }
  });
});

describe("orders whose last run has failed", () => {
  const failedIds = async (...args: string[]) =>
    (await adminJson(["order", "list", "--failed", ...args])).map(({ id }: { id: string }) => id);

  it.runIf(exhaustive)(
    "are listed over all accounts, and started again together, or those of one account",
    async () => {
      const [first, second, fine] = await Promise.all([1, 2, 3].map(() => newOrder(addMessagingNumbers)));
      if (!first || !second || !fine) throw new Error("There are three orders.");
      for (const order of [first, second]) {
        await order.attach("order");
        await refuse(order.id, 2);
      }
      for (const { id } of [first, second, fine]) await admin(["order", "checkout", id, "--wait"]);
      const { account } = first;
      expect(await adminJson(["order", "list", "--failed", "--account", account])).toEqual([
        {
          id: first.id,
          account,
          run: `checkout-${first.id}-1`,
          status: "FAILED",
          failure: "refused",
          ended_at: expect.any(String),
          reason: expect.stringContaining("422"),
        },
      ]);
      const { stdout } = await admin(["order", "list", "--failed", "--account", account], { env: { COLUMNS: "100" } });
      expect(stdout.split("\n").map((line) => line.length <= 100)).toEqual([true, true, true]);
      expect(stdout).toMatch(new RegExp(`\n${first.id}  .*  FAILED +refused .*…\n$`));
      expect(await failedIds()).toEqual(expect.arrayContaining([first.id, second.id]));
      expect(await failedIds()).not.toContain(fine.id);
      const faults = await admin(["order", "checkout", "--failed", "--account", account, "--json"]);
      expect([faults.code, faults.stdout, faults.stderr]).toEqual([
        0,
        "[]\n",
        expect.stringMatching(/\n1 refused: .* --refused includes them\.\n0 to check out\./),
      ]);
      const again = ["order", "checkout", "--failed", "--refused", "--account", account];
      const refused = await admin([...again, "--json"]);
      expect([refused.code, JSON.parse(refused.stdout)]).toMatchObject([1, [{ id: first.id, status: "FAILED" }]]);
      const env = { STATE_MACHINE_ARN: `${process.env.STATE_MACHINE_ARN}-other` };
      const unstarted = await admin([...again, "--json"], { env });
      const notStarted = {
        id: first.id,
        run: null,
        status: "FAILED",
        reason: expect.stringContaining("stateMachineArn"),
      };
      expect([unstarted.code, JSON.parse(unstarted.stdout)]).toEqual([1, [notStarted]]);
      expect(await adminJson(again)).toEqual([
        { id: first.id, run: `checkout-${first.id}-3`, status: "SUCCEEDED", reason: null },
      ]);
      expect([await failedIds("--account", account), await adminJson(again)]).toEqual([[], []]);
      expect(await get(keys.openCheckout(first.id))).toBeUndefined();
      expect(await failedIds()).toContain(second.id);
      for (const option of ["--failed", "--refused"])
        expect((await admin(["order", "checkout", second.id, option])).code).toBe(2);
      expect((await admin(["order", "checkout", "--refused"])).code).toBe(2);
    },
  );

  it("are listed by what has failed: the carrier's refusal, or a fault, such as a crash", async () => {
    const [refusal, fault, crash] = await Promise.all([1, 2, 3].map(() => newOrder(addMessagingNumbers)));
    if (!refusal || !fault || !crash) throw new Error("There are three orders.");
    const ended = { status: "FAILED", ended_at: new Date().toISOString() } as const;
    for (const { id } of [refusal, fault, crash]) await beginRun({ order_id: id, run: "failed" }, new Date());
    const store = (id: string, set: Partial<CheckoutRun>) => updateRun({ order_id: id, run: "failed" }, set, {});
    await store(refusal.id, { ...ended, failure: "refused" });
    await store(fault.id, { ...ended, failure: "fault" });
    await store(crash.id, { status: "CRASHED" });
    const listed = async (...args: string[]) =>
      (await adminJson(["order", "list", ...args])).map(({ id, failure }: { id: string; failure: string }) => [
        id,
        failure,
      ]);
    const refused = await listed("--failure", "refused");
    expect(refused).toContainEqual([refusal.id, "refused"]);
    expect(new Set(refused.map(([, failure]: string[]) => failure))).toEqual(new Set(["refused"]));
    const faults = await listed("--failure", "fault");
    expect(faults).toEqual(
      expect.arrayContaining([
        [fault.id, "fault"],
        [crash.id, "fault"],
      ]),
    );
    expect(new Set(faults.map(([, failure]: string[]) => failure))).toEqual(new Set(["fault"]));
    expect(await listed("--account", crash.account)).toEqual([[crash.id, "fault"]]);
    expect((await admin(["order", "list", "--failure", "other"])).code).toBe(2);
  });

  it.runIf(exhaustive)("are started again ten at once", async () => {
    const names = Array.from({ length: 12 }, (_, n) => `o${n}`);
    const orders = Object.fromEntries(names.map((name) => [name, { account: "a" }]));
    const made = await apply({ accounts: { a: { name: "Acme" } }, orders });
    const ids = Object.values(made.orders).map(({ id }) => id);
    for (const id of ids) await beginRun({ order_id: id, run: "failed" }, new Date());
    for (const id of ids) await updateRun({ order_id: id, run: "failed" }, { status: "FAILED" }, {});
    expect(await adminJson(["order", "checkout", "--failed", "--account", made.accounts.a?.id ?? ""])).toHaveLength(12);
    const executionsOf = async (statusFilter: ExecutionStatus) => {
      const listing = new ListExecutionsCommand({ stateMachineArn: process.env.STATE_MACHINE_ARN, statusFilter });
      const { executions = [] } = await new SFNClient().send(listing);
      return executions.filter(({ name }) => ids.some((id) => name?.includes(id)));
    };
    expect(await executionsOf("FAILED")).toEqual([]);
    const one = { stateMachineArn: process.env.STATE_MACHINE_ARN, maxResults: 1 };
    expect((await new SFNClient().send(new ListExecutionsCommand(one))).executions).toHaveLength(1);
    const own = await executionsOf("SUCCEEDED");
    const [starts, ends] = [own.map(({ startDate }) => Number(startDate)), own.map(({ stopDate }) => Number(stopDate))];
    // The eleventh starts after one of the first ten has ended.
    expect(starts.sort((a, b) => a - b)[10]).toBeGreaterThanOrEqual(Math.min(...ends));
  });

  it("are found if nobody has noticed that the run crashed; the next run says until when it waits for its calls", async () => {
    const order = await newOrder(addMessagingNumbers);
    const { account } = order;
    const attachment = await order.attach("order");
    await refuse(order.id);
    const { run: crashed } = JSON.parse((await admin(["order", "checkout", order.id, "--wait", "--json"])).stdout);
    // Simulates an execution that ended without recording its end.
    const unrecorded = { status: "RUNNING", ended_at: null, reason: null } as const;
    expect(await updateRun({ order_id: order.id, run: crashed }, unrecorded, { status: "FAILED" })).toBe(true);
    expect(await adminJson(["order", "list", "--failed", "--account", account])).toEqual([
      { id: order.id, account, run: crashed, status: "CRASHED", failure: "refused", ended_at: null, reason: null },
    ]);
    expect(await adminJson(["order", "list", "--account", account])).toMatchObject([{ last_run: "CRASHED" }]);
    expect(await adminJson(["order", "show", order.id])).toMatchObject({ checkout: { status: "CRASHED" } });
    const [request = ""] = order.requests;
    const [receipt] = await receiptsOf(request);
    const until = new Date(Date.now() + 120_000).toISOString();
    const inFlight = receipt && { ...receipt, in_flight_until: until };
    if (inFlight) await replaceReceipt(request, receipt, inFlight);
    const continued = new RegExp(
      `\`order checkout ${order.id}\` continues the crashed run\\. Where it must\\s+wait for announced calls, it waits\\s+until\\s+${until}\\s+at most\\.`,
    );
    expect((await admin(["order", "show", order.id])).stdout.replaceAll("\n", " ")).toMatch(continued);
    await order.update("order", attachment, { name: "New" });
    const started = await admin(["order", "checkout", order.id, "--json"]);
    expect(started.stderr).toMatch(continued);
    await vi.waitFor(async () => {
      const report = await orderReport(order.id);
      const waiting =
        /^0 of 1 file forwarded; waiting to try again: attempt 1, an earlier call may be in progress, next/;
      expect(report && progressOf(report)).toMatch(waiting);
    }, 20_000);
    const { stdout } = await admin(["order", "show", order.id]);
    expect(stdout).toMatch(
      new RegExp(`\n${crashed} +CRASHED +20\\S+ +The run stopped without reporting a result\\.\n`),
    );
    expect(stdout).toMatch(/\nlast_answer +an earlier call may be in progress\nnext_try_at +20/);
    expect(await failedIds("--account", account)).toEqual([]);
  });
});

describe("order checkout --wait", () => {
  it("waits for a run that Step Functions does not know yet", async () => {
    const order = await newOrder(addMessagingNumbers);
    const run = `checkout-${order.id}-1`;
    let polls = 0;
    const end = waitForCheckout(order.id, run, 100, async () => {
      polls += 1;
      if (polls === 2) await startCheckout(order.id);
    });
    expect(await end).toEqual({ run, status: "SUCCEEDED", reason: null });
  });

  it("says that a run that Step Functions no longer knows has crashed", async () => {
    const { id } = await newOrder(addMessagingNumbers);
    const started_at = new Date(Date.now() - 59_000).toISOString();
    await storeRun(id, { run: "gone", status: "RUNNING", started_at });
    const reason = "The run stopped without reporting a result.";
    expect(await waitForCheckout(id, "gone", 100)).toEqual({ run: "gone", status: "CRASHED", reason });
  });

  it("prints the number of forwarded files whenever it changes, and the message of the workflow at the end", async () => {
    const order = await newOrder(addMessagingNumbers);
    await order.attach(0, "One");
    await order.attach("order", "Two");
    const { code, stdout, stderr } = await admin(["order", "checkout", order.id, "--wait"]);
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^run +checkout-.*\nstatus +SUCCEEDED\nreason +-\n$/)]);
    const changes = stderr.split("\n").filter((line) => /files forwarded/.test(line));
    expect(changes.at(-1)).toMatch(/^\d\d:\d\d:\d\d {2}2 of 2 files forwarded, checked out$/);
    expect(new Set(changes.map((line) => line.slice(10))).size).toBe(changes.length);
  });

  it.runIf(exhaustive)(
    "prints the attempt, the carrier's response and the next attempt of a waiting checkout, as order show does",
    async () => {
      const order = await newOrder(addMessagingNumbers);
      const attachment = await order.attach(0);
      const away = { method: "PUT", path: attachment, action: "status", status: 503, headers: { "Retry-After": "8" } };
      await misbehave(away);
      await adminJson(["order", "checkout", order.id]);
      const waits = async () => (await orderReport(order.id))?.checkout?.next_try_at;
      await vi.waitFor(async () => expect(await waits()).toEqual(expect.any(String)), { timeout: 20_000 });
      const { stdout } = await admin(["order", "show", order.id]);
      expect(stdout).toMatch(/\nattempt +1\nlast_answer +.*503.*\nnext_try_at +20/);
      expect(stdout).toMatch(new RegExp(`\n${attachment} +LOA .* pending .* 1 +.*503`));
      const { code, stderr } = await admin(["order", "checkout", order.id, "--wait"]);
      expect([code, stderr]).toEqual([
        0,
        expect.stringMatching(/0 of 1 file forwarded; waiting to try again: attempt 1, .*503.*, next attempt at 20/),
      ]);
    },
  );

  it("prints during a step that the carrier is called again, and why", () => {
    const receipts = [
      { state: "forwarded", last_answer: null },
      { state: "pending", last_answer: "it responded with 503" },
      { state: "pending", last_answer: null },
    ] as const;
    const attachments = receipts.map((receipt, index) => ({ id: String(index), of: "request" as const, receipt }));
    const request = { id: "R", account: "A", type: "ADD_MESSAGING_NUMBERS", seal: null, attachments };
    const order = { id: "O", account: "A", state: "CART", checkout: null, seal: null, attachments: [] } as const;
    expect(progressOf({ ...order, requests: [request] })).toBe(
      "1 of 3 files forwarded; retrying 1: it responded with 503",
    );
  });

  it.runIf(exhaustive)("prints on Ctrl-C that the run continues, which it does", async () => {
    const order = await newOrder(addMessagingNumbers);
    const attachment = await order.attach(0);
    const slow = { method: "PUT", path: attachment, action: "delay", delay_ms: 4_000, times: 1 };
    await misbehave(slow);
    const { code, stderr } = await interrupted(["order", "checkout", order.id, "--wait"], /0 of 1 file forwarded/);
    expect([code, stderr]).toEqual([130, expect.stringContaining(`The run checkout-${order.id}-1 continues.`)]);
    expect((await admin(["order", "checkout", order.id, "--wait"])).code).toBe(0);
  });
});

describe("switch list and show", () => {
  it("show the switches of an account and those below it, without secrets", async () => {
    const t = await tenants();
    const made = await newSwitch(t.key("east"), { name: "Eastern", sms_secret: "planted" });
    const listed = await admin(["switch", "list", "--account", t.account("acme")]);
    expect(listed.stdout).toMatch(new RegExp(`\n${made.id}  Eastern +East +${t.account("east")} +off +off `));
    const ofAll = await adminJson(["switch", "list"]);
    expect(ofAll.filter(({ id }: { id: string }) => id === made.id)).toHaveLength(1);
    const shown = await admin(["switch", "show", made.id]);
    expect(shown.stdout).toMatch(/^sms_secret +\(set\)$/m);
    expect(shown.stdout).toMatch(/^mms_secret +-$/m);
    expect(listed.stdout + shown.stdout).not.toContain("planted");
  });
});

describe("a letter of authorization that a carrier may refuse", () => {
  it("is reported by order show and request show, with the reason", async () => {
    const order = await newOrder(addMessagingNumbers);
    const fine = await order.attach(0);
    const body = form({ "data[file_hint]": "LOA" }, pdf("loa.pdf", "Dear carrier"));
    const { id } = attachmentOf(await call("POST", order.paths.order, { key: order.key, body }));
    const warning = "The letter of authorization is not a PDF, TIFF, PNG or JPEG.";
    const { stdout } = await admin(["order", "show", order.id]);
    const warnings = stdout.split("\n").filter((line) => line.startsWith("Warning:"));
    expect(warnings).toEqual(Array(2).fill(`Warning: attachment ${id}: ${warning}`));
    const { attachments } = await adminJson(["request", "show", order.requests[0] ?? ""]);
    expect(attachments).toMatchObject([
      { id: fine, warning: null },
      { id, warning },
    ]);
    const shown = await adminJson(["attachment", "show", order.id, id]);
    expect(shown).toMatchObject({ detected_type: null, encrypted: null });
  });
});
