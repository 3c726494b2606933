import { randomUUID } from "node:crypto";
import { expect, it, onTestFinished } from "vitest";
import type { ProxiedCall } from "../support/fault-proxy/proxy.ts";
import { form, upload } from "../support/fixtures/attachments.ts";
import { tenants } from "../support/fixtures/tenants.ts";
import { checkInvariants } from "../support/models/invariants.ts";
import { call } from "../support/requests/client.ts";
import { proxies } from "../support/servers/own-table.ts";

/** A write can commit after its client has given it up and the next attempt was refused. Uses no timeout, which could end other calls. */

it("an upload that is refused while an attempt of it is still in flight keeps its file in case that attempt commits", async () => {
  const t = await tenants();
  const [path, key] = [t.attachments("request", "acme"), t.key("acme")];
  const reference = randomUUID();
  const conflicting = await upload(path, key, { "data[reference_id]": reference });
  const removed = Promise.withResolvers<void>();
  let first: ProxiedCall | undefined;
  proxies.table.watch(async (sent, moment) => {
    if (sent.operation !== "TransactWriteItems" || moment !== "before") return;
    first ??= sent;
    if (sent !== first) return;
    sent.abandon();
    await removed.promise;
  });
  onTestFinished(() => proxies.table.watch(async () => {}));
  const { status } = await call("POST", path, { key, body: form({ "data[reference_id]": reference }) });
  expect(status).toBe(422);
  expect((await call("DELETE", `${path}/${conflicting.id}`, { key })).status).toBe(200);
  removed.resolve();
  await proxies.table.idle();
  const { body } = await call("GET", path, { key });
  expect(body).toMatchObject({ data: { page_info: { total: 1 } } });
  expect((await checkInvariants(new Date())).filter(({ level }) => level === "violation")).toEqual([]);
});
