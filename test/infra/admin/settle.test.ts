import { describe, expect, inject, it } from "vitest";
import { orderReport } from "../../../infra/admin/orders/report.ts";
import type { StoredEvent } from "../../../shared/history/event.ts";
import { keys } from "../../../shared/table/keys.ts";
import { get } from "../../../shared/table/read.ts";
import { transact } from "../../../shared/table/write.ts";
import { beforeTableCall, type TableCall } from "../../support/fault-proxy/table-proxy.ts";
import { orderWithOneAttachment } from "../../support/fixtures/orders.ts";
import { storeRun } from "../../support/fixtures/runs.ts";
import { failure } from "../../support/processes/failure.ts";
import { admin, adminJson } from "../../support/requests/admin.ts";

const misbehave = (fault: object) =>
  fetch(`${inject("environment").CARRIER_URL}/faults`, { method: "POST", body: JSON.stringify(fault) });

const checkOut = (order: string) => adminJson(["order", "checkout", order, "--wait"]).catch(() => undefined);

/** An order whose run ended with an unknown outcome, and whose wrong letter was replaced since. */
const doubted = async () => {
  const order = await orderWithOneAttachment();
  await misbehave({ method: "POST", path: order.id, action: "status", status: 403 });
  await admin(["order", "checkout", order.id, "--wait"]);
  const calls_end_by = new Date(Date.now() - 60_000).toISOString();
  const version = Number((await get(keys.order(order.id)))?.attachments_version);
  const run = `checkout-${order.id}-1`;
  await transact({
    run: {
      update: keys.checkout(order.id),
      set: { outcome_unknown: true, calls_end_by },
      when: { equals: { run, status: "FAILED" } },
    },
    order: { update: keys.order(order.id), set: { seal: { run, version, at: calls_end_by } }, when: { exists: true } },
  });
  await order.remove(0, order.attachment);
  const right = await order.attach(0, "right");
  return { ...order, right, settle: (...how: string[]) => admin(["order", "settle", order.id, ...how]) };
};

const because = ["--reason", "Their support, ticket 4711"];
/** The options for a carrier that was asked after every call had ended. */
const open = () => ["--not-checked-out", "--asked-at", new Date().toISOString(), ...because];

describe("order settle", () => {
  it("lets the next run forward what was added since, where the carrier says that the cart is open", async () => {
    const order = await doubted();
    const before = await orderReport(order.id);
    expect([before?.checkout?.outcome_unknown, before?.seal !== null]).toEqual([true, true]);
    expect((await admin(["order", "show", order.id])).stdout).toMatch(
      new RegExp(`\nnext +\`order checkout ${order.id}\` asks the carrier\\.[\\s\\S]+\`order settle ${order.id}\``),
    );
    expect(await order.settle(...open())).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/outcome +open\nnext +`order checkout \S+` continues\./),
    });
    const after = await orderReport(order.id);
    expect(after?.checkout?.reason).toMatch(/: 403 .*\. An operator has recorded that the cart is not checked out\.$/);
    expect([after?.state, after?.checkout?.outcome_unknown, after?.seal]).toEqual(["CART", false, null]);
    expect(await checkOut(order.id)).toMatchObject({ status: "SUCCEEDED", reason: null });
    expect(await orderReport(order.id)).toMatchObject({ late_changes: { not_forwarded: 0, not_withdrawn: 0 } });
  });

  it("checks the order out, where the carrier says that it has, and says what did not go", async () => {
    const order = await doubted();
    const settled = await adminJson([
      "order",
      "settle",
      order.id,
      "--checked-out",
      ...because,
      "--on-behalf-of",
      "Acme",
    ]);
    const counts = { not_forwarded: 1, not_withdrawn: 1 };
    expect(settled).toEqual({ id: order.id, outcome: "checked_out", ...counts });
    const reason = expect.stringMatching(/ An operator has recorded that the cart is checked out\.$/);
    const after = { state: "CHECKED_OUT", checkout: { reason }, late_changes: counts };
    expect(await orderReport(order.id)).toMatchObject(after);
    expect(await get(keys.openCheckout(order.id))).toBeUndefined();
    // The last run has failed, so it is not the one that succeeded.
    const checkedOut = { run: null, status: "SUCCEEDED", reason: "The order is already checked out." };
    expect(await adminJson(["order", "checkout", order.id])).toEqual(checkedOut);
    const request = ["request", "create", "--order", order.id, "--type"];
    expect(await admin([...request, "ADD_MESSAGING_NUMBERS"])).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/has been checked out at the carrier/),
    });
    expect((await admin([...request, "PORT_IN"])).code).toBe(0);
    const { events } = await adminJson(["history", "order", order.id]);
    const last = { type: "order.settled", outcome: "checked_out", reason: because[1] };
    expect(events.at(-1)).toMatchObject({ ...last, actor: { type: "operator", on_behalf_of: "Acme" } });
    expect((await admin(["history", "order", order.id])).stdout).toContain(` checked_out: ${because[1]}\n`);
    expect(await order.settle(...open())).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/no checkout with an unknown outcome/),
    });
  });

  it("refuses what is in progress, may still happen, or is in no doubt", async () => {
    const { id } = await orderWithOneAttachment();
    const settle = async (...how: string[]) => {
      const { code, stderr } = await admin(["order", "settle", id, ...how]);
      return `${code} ${stderr.replace(/^Target: .*\n/, "")}`;
    };
    const unknown = { outcome_unknown: true };
    expect(await settle(...open())).toMatch(/^1 This order has no checkout with an unknown outcome\./);
    const calls_end_by = new Date(Date.now() - 9_000).toISOString();
    await storeRun(id, { ...unknown, calls_end_by });
    // Clocks may differ by ten seconds.
    expect(await settle(...open())).toMatch(
      /^1 The carrier may check the cart out until .+Z: ask it after that, and pass the time of its response /,
    );
    await storeRun(id, { ...unknown, checked_out: true, calls_end_by: new Date(Date.now() - 60_000).toISOString() });
    expect(await settle(...open())).toMatch(/^1 The carrier has responded that it has checked the cart out:/);
    expect((await admin(["order", "show", id])).stdout).toMatch(/\nnext +`order checkout \S+` completes the order\.\n/);
    expect(await settle("--not-checked-out", ...because)).toMatch(/^2 Missing: --asked-at <time>,/);
    expect(await settle("--not-checked-out", "--asked-at", "noon", ...because)).toMatch(
      /^2 --asked-at cannot be "noon"/,
    );
    expect(await settle("--not-checked-out", "--asked-at", "2999-01-01T00:00:00Z", ...because)).toMatch(
      /in the future/,
    );
    expect(await settle(...because)).toMatch(/^2 Missing: --checked-out or --not-checked-out,/);
    expect(await settle("--not-checked-out", "--checked-out", ...because)).toMatch(
      /^2 --checked-out cannot be used with --not-checked-out\./,
    );
    expect(await settle("--checked-out")).toMatch(/^2 Missing: --reason <text>\./);
    expect(await settle()).toMatch(/^2 Missing: --reason <text>, --checked-out or --not-checked-out\./);
    expect((await orderReport(id))?.checkout?.outcome_unknown).toBe(true);
    // The run's execution is unknown, so the run counts as crashed.
    await storeRun(id, { ...unknown, status: "RUNNING", started_at: new Date(Date.now() - 61_000).toISOString() });
    expect(await settle("--checked-out", ...because)).toMatch(/^0 /);
    expect((await orderReport(id))?.checkout?.reason).toBe(
      "The run stopped without reporting a result. An operator has recorded that the cart is checked out.",
    );
    const { events } = await adminJson(["history", "order", id]);
    expect(events.map(({ type }: StoredEvent) => type)).toEqual([
      "order.created",
      "order.checkout_failed",
      "order.settled",
    ]);
  });

  it("changes nothing if the checkout or the order has changed since it was read", async () => {
    const { id } = await orderWithOneAttachment();
    const isWrite = ({ operation }: TableCall) => operation === "TransactWriteItems";
    const doubt = { outcome_unknown: true, calls_end_by: new Date(Date.now() - 60_000).toISOString() };
    const other = "The order's checkout has changed meanwhile: run order show.\n";
    for (const [name, value] of Object.entries({
      run: "another",
      status: "RUNNING",
      outcome_unknown: false,
      calls_end_by: new Date().toISOString(),
      checked_out: true,
    })) {
      await storeRun(id, doubt);
      beforeTableCall(isWrite, () => storeRun(id, { ...doubt, [name]: value }));
      expect(await admin(["order", "settle", id, ...open()]), name).toEqual(failure(1, other));
      expect(await orderReport(id), name).toMatchObject({ state: "CART", checkout: { [name]: value, reason: null } });
    }
    await storeRun(id, doubt);
    const when = { equals: { state: "CART" } };
    const ended = { update: keys.order(id), set: { state: "CHECKED_OUT" }, when } as const;
    beforeTableCall(isWrite, () => transact({ ended }));
    expect(await admin(["order", "settle", id, "--checked-out", ...because])).toEqual(failure(1, other));
  });
});
