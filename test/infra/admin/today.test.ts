import { expect, it } from "vitest";
import { today } from "../../../infra/admin/orders/today.ts";
import { newOrder } from "../../support/fixtures/orders.ts";
import { addMessagingNumbers } from "../../support/fixtures/tenants.ts";
import { admin } from "../../support/requests/admin.ts";
import { carrier } from "../../support/servers/carrier.ts";
import { checkOut } from "../../support/servers/workflow.ts";

it("says that all is clear, and what was looked at", async () => {
  const { stdout, code } = await admin(["today"]);
  expect(code).toBe(0);
  for (const shown of [
    /^(All clear, no checkout in progress|1 reported by doctor)$/m,
    /\nFailed checkouts\nNo checkout has failed: /,
    /\nCheckouts in progress\nNo checkout is in progress\.\n/,
    /\nLetters that came after the checkout\nNo letter came too late: /,
    /\nThe last hour\n/,
  ])
    expect(stdout).toMatch(shown);
});

it("says what failed, why, for whom, and the command that fits", async () => {
  const upstream = await carrier();
  const order = await newOrder(addMessagingNumbers);
  await order.attach(0, "LOA");
  const reason = "The signature\non page 2 is missing.";
  await upstream.misbehave({ method: "PUT", action: "status", status: 422, body: { reason } });
  await checkOut(order.id);
  const { failed, late } = await today(new Date());
  expect([failed, late.rows]).toEqual([
    {
      title: "Failed checkouts",
      of: "order",
      rows: [
        {
          customer: "level0",
          id: order.id,
          since: expect.any(String),
          failure: "refused",
          reason: expect.stringContaining(JSON.stringify(reason)),
          command: `order show ${order.id}`,
        },
      ],
      total: 1,
      rest: "order list --failed",
      none: expect.any(String),
    },
    [],
  ]);
  await upstream.close();
});
