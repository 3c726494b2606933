import { describe, expect, inject, it } from "vitest";
import { newOrder } from "../../support/fixtures/orders.ts";
import { makeSwitch } from "../../support/fixtures/switches.ts";
import { add, tenants } from "../../support/fixtures/tenants.ts";
import { admin, adminJson } from "../../support/processes/admin-cli.ts";

const carrierUrl = () => inject("environment").CARRIER_URL;

describe("order checkout and order show", () => {
  it("start the checkout by the workflow, wait for its end, and tell what the carrier has", async () => {
    const order = await newOrder(add, "PORT_IN");
    const attachment = await order.attach(0, "My LOA");
    const before = await admin(["order", "show", order.id]);
    expect(before.stdout).toMatch(new RegExp(`state +CART\n[\\s\\S]*${attachment} +My LOA +loa.pdf +request +pending`));
    expect(await adminJson(["order", "checkout", order.id.toLowerCase(), "--wait", "--json"])).toEqual({
      run: `checkout-${order.id}-1`,
      status: "SUCCEEDED",
      reason: null,
    });
    const after = await admin(["order", "show", order.id]);
    expect(after.stdout).toMatch(
      new RegExp(`state +CHECKED_OUT\n[\\s\\S]*${attachment} +My LOA +loa.pdf +request +forwarded`),
    );
    const [request] = order.requests;
    expect(await adminJson(["request", "show", request ?? "", "--json"])).toMatchObject({
      id: request,
      attachments: [{ id: attachment, of: "request", receipt: { state: "forwarded", status: 201 } }],
    });
  });

  it("exit with 1 and the reason where the carrier refuses, and can be started again", async () => {
    const order = await newOrder(add);
    const attachment = await order.attach("order");
    const fault = { method: "PUT", path: order.id, action: "status", status: 422 };
    await fetch(`${carrierUrl()}/faults`, { method: "POST", body: JSON.stringify(fault) });
    const failed = await admin(["order", "checkout", order.id, "--wait"]);
    expect([failed.code, failed.stdout]).toEqual([
      1,
      expect.stringMatching(new RegExp(`FAILED\n.*${attachment}.*422`)),
    ]);
    expect((await admin(["order", "show", order.id])).stdout).toMatch(/state +CART\n[\s\S]* refused /);
    expect((await admin(["order", "checkout", order.id, "--wait"])).code).toBe(0);
  });

  it("say in one line that there is no such order or request", async () => {
    for (const args of [
      ["order", "show", "nope"],
      ["order", "checkout", "nope"],
      ["request", "show", "nope"],
    ]) {
      const { code, stderr } = await admin(args);
      expect([code, stderr]).toEqual([1, expect.stringMatching(/^There is no (order|request) nope/i)]);
    }
  });
});

describe("switch list and show", () => {
  it("show an account's tree of switches, without secrets", async () => {
    const t = await tenants();
    const made = await makeSwitch(t.key("east"), { name: "Eastern", sms_secret: "planted" });
    const listed = await admin(["switch", "list", "--account", t.account("acme")]);
    expect(listed.stdout).toMatch(new RegExp(`\n${made.id}  ${t.account("east")} +Eastern +off +off `));
    const shown = await admin(["switch", "show", made.id]);
    expect(shown.stdout).toMatch(/sms_secret +\(set\)\nmms_secret +-\n/);
    expect(listed.stdout + shown.stdout).not.toContain("planted");
  });
});

describe("doctor", () => {
  it("finds nothing at fault where all is well", async () => {
    const { code, stdout } = await admin(["doctor"]);
    const checks = stdout.trimEnd().split("\n").slice(1);
    expect([code, checks.length, checks.filter((line) => !line.endsWith(" ok"))]).toEqual([0, 7, []]);
  });

  it("tells each fault with its remedy, and exits with 1", async () => {
    const env = { TABLE_NAME: "no-such-table", AWS_ENDPOINT_URL_S3: "http://127.0.0.1:9", STATE_MACHINE_ARN: "" };
    const { code, stdout } = await admin(["doctor", "--json"], { env });
    const faults = JSON.parse(stdout).filter(({ ok }: { ok: string }) => ok === "FAULT");
    expect(code).toBe(1);
    expect(faults.map(({ check, remedy }: { check: string; remedy: string }) => [check, remedy.length > 0])).toEqual([
      ["table", true],
      ["table's TTL", true],
      ["bucket", true],
      ["workflow", true],
    ]);
  });
});
