import { beforeAll, describe, expect, inject, it } from "vitest";
import * as z from "zod/mini";
import { attachmentOf, form, upload } from "../support/fixtures/attachments.ts";
import { sha256Of } from "../support/fixtures/upload-content.ts";
import { admin, adminJson } from "../support/processes/admin-cli.ts";
import { call } from "../support/requests/client.ts";
import { type Customer, newCustomer } from "./customer.ts";

const Cart = z.object({
  checked_out: z.boolean(),
  attachments: z.array(
    z.object({ request_id: z.string(), attachment_id: z.string(), sha256: z.string(), received: z.number() }),
  ),
});

const carrier = inject("carrierUrl");
const cartOf = async (order: string) => z.parse(Cart, await (await fetch(`${carrier}/carts/${order}`)).json());

describe("a checkout", () => {
  let customer: Customer;
  let key: string;
  let order: string;
  beforeAll(async () => {
    customer = await newCustomer();
    key = customer.key("acme");
    order = customer.id("orders", "acme");
  });

  const checkOut = () => admin(["order", "checkout", order, "--wait", "--json"]);
  const state = async () => (await adminJson(["order", "show", order])).state;

  it("that the carrier refuses is FAILED with the reason, and leaves the order in its cart, open for more attachments", async () => {
    const { id } = await upload(customer.attachments("order", "acme"), key);
    const fault = { method: "PUT", path: order, action: "status", status: 422, times: 2 };
    expect((await fetch(`${carrier}/faults`, { method: "POST", body: JSON.stringify(fault) })).status).toBe(201);
    const { code, stdout } = await checkOut();
    await fetch(`${carrier}/faults`, { method: "DELETE" });
    expect([code, JSON.parse(stdout)]).toEqual([
      1,
      { run: `checkout-${order}-1`, status: "FAILED", reason: expect.stringMatching(new RegExp(`${id}.*422`)) },
    ]);
    expect([await state(), (await cartOf(order)).checked_out]).toEqual(["CART", false]);
  });

  it("can be repeated, and then every file is at the carrier once, byte for byte", async () => {
    const content = new Uint8Array(Buffer.alloc(1_000_000, "\r\n--ä\0"));
    const body = form({}, new File([content], "own.pdf", { type: "application/pdf" }));
    const uploaded = attachmentOf(await call("POST", customer.attachments("request", "acme"), { key, body })).id;

    const { stdout } = await checkOut();
    expect(JSON.parse(stdout)).toEqual({ run: `checkout-${order}-2`, status: "SUCCEEDED", reason: null });
    expect(await state()).toBe("CHECKED_OUT");

    const cart = await cartOf(order);
    const [first, second] = [customer.id("requests", "acme"), customer.id("requests", "second")];
    expect(cart.checked_out).toBe(true);
    expect(cart.attachments.map(({ request_id }) => request_id).sort()).toEqual([first, first, second].sort());
    expect(cart.attachments.map(({ received }) => received)).toEqual([1, 1, 1]);
    const forwarded = cart.attachments.find(({ attachment_id }) => attachment_id === uploaded);
    expect(forwarded?.sha256).toBe(sha256Of(content));
    expect((await call("GET", customer.attachments("request", "acme"), { key })).status).toBe(200);
  });
});
