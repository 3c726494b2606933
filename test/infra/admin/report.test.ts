import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { type OrderReport, orderReport } from "../../../infra/admin/report.ts";
import { orderWithOneAttachment } from "../../support/fixtures/orders.ts";
import { carrier } from "../../support/servers/carrier.ts";
import { checkOut } from "../../support/servers/workflow.ts";

let upstream: Awaited<ReturnType<typeof carrier>>;
beforeAll(async () => {
  upstream = await carrier();
});
afterEach(() => upstream.behave());
afterAll(() => upstream.close());

const receiptOf = (report: OrderReport | undefined) => report?.requests[0]?.attachments[0]?.receipt;

/** Seconds from now until a time. */
const secondsAhead = (time: string | null | undefined) => (Date.parse(time ?? "") - Date.now()) / 1000;

describe("the report of a checkout that waits for the carrier", () => {
  it("has the attempts, the last response and the time of the next attempt, of the attachment and the run", async () => {
    const order = await orderWithOneAttachment();
    const busy = { action: "status", status: 503, headers: { "Retry-After": "600" } } as const;
    await upstream.misbehave({ method: "PUT", times: 2, ...busy });
    const reports: (OrderReport | undefined)[] = [];
    const look = async () => {
      reports.push(await orderReport(order.id));
    };
    const run = await checkOut(order.id, { after: { "checkout/forward": [look, look, look] } });

    expect(run.status).toBe("SUCCEEDED");
    for (const [index, attempts] of [1, 2].entries()) {
      const waiting = { last_answer: "it responded with 503", next_try_at: expect.any(String) };
      expect(receiptOf(reports[index])).toMatchObject({ state: "pending", attempts, status: null, ...waiting });
      expect(reports[index]?.checkout).toMatchObject({ status: "RUNNING", consecutive_waits: attempts, ...waiting });
      expect(secondsAhead(reports[index]?.checkout?.next_try_at)).toBeGreaterThan(590);
      expect(secondsAhead(receiptOf(reports[index])?.next_try_at)).toBeGreaterThan(590);
    }
    const over = { last_answer: null, next_try_at: null };
    expect(receiptOf(reports[2])).toMatchObject({ state: "forwarded", attempts: 3, status: 201, ...over });
    expect(reports[2]?.checkout).toMatchObject({ status: "RUNNING", consecutive_waits: 0, ...over });
  });
});
