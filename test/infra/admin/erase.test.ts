import { setTimeout as sleep } from "node:timers/promises";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { unmarkTree } from "../../../infra/admin/accounts/erase.ts";
import { fileKey } from "../../../shared/attachments/file-keys.ts";
import { allFiles, putFile } from "../../../shared/attachments/files.ts";
import { sweepOrphanFiles } from "../../../shared/attachments/sweep.ts";
import { beginRun } from "../../../shared/checkout/checkout-run.ts";
import { listLateChange } from "../../../shared/history/record.ts";
import { newId } from "../../../shared/schema/fields.ts";
import type { Write } from "../../../shared/table/expressions.ts";
import { eventPrefix, type Key, keys } from "../../../shared/table/keys.ts";
import { get, scan } from "../../../shared/table/read.ts";
import { transact } from "../../../shared/table/write.ts";
import { interceptCalls } from "../../support/fault-proxy/intercept.ts";
import { beforeTableCall, interceptTableCalls, type TableCall } from "../../support/fault-proxy/table-proxy.ts";
import { customerTree, everything, resellers } from "../../support/fixtures/account-tree.ts";
import { apply } from "../../support/fixtures/apply.ts";
import { form } from "../../support/fixtures/attachments.ts";
import { storeRun } from "../../support/fixtures/runs.ts";
import { newSwitch, patch, post } from "../../support/fixtures/switches.ts";
import { addMessagingNumbers } from "../../support/fixtures/tenants.ts";
import { sendFile, storedFile } from "../../support/fixtures/upload-content.ts";
import { completePath, prepareUpload, sentUpload } from "../../support/fixtures/uploads.ts";
import { allowOnly } from "../../support/models/iam.ts";
import { checkInvariants } from "../../support/models/invariants.ts";
import { failure } from "../../support/processes/failure.ts";
import { admin, adminJson } from "../../support/requests/admin.ts";
import { call } from "../../support/requests/client.ts";
import { startOnNewTable } from "../../support/servers/own-table.ts";
import { byExtent, exhaustive } from "../../support/setup/extent.ts";

let reseller: Awaited<ReturnType<typeof resellers>>;
let before: string[];
beforeEach(async () => {
  await startOnNewTable();
  reseller = await resellers();
  before = await everything();
});

const erase = (account: string, ...more: string[]) =>
  admin(["account", "erase", account, "--yes", "Zebra 0", "--wait", "0", ...more]);

/** The one item that stays, which is the event. What the reseller's own requests have stored of Idempotency-Keys expires. */
const afterwards = async () => (await everything()).filter((one) => !before.includes(one));

const erasure = (account: string) => expect.stringMatching(`${account}.*"type":"account.erased"`);

describe("account erase", () => {
  it("prints what it would erase, by kind and number, and erases nothing without the name", async () => {
    const { top, all } = await customerTree(reseller, 2);
    const stored = await everything();
    const numbers = {
      accounts: 2,
      users: 2,
      keys: 2,
      switches: 2,
      orders: 4,
      requests: 5,
      attachments: 8,
      receipts: 2,
    };
    const printed = await adminJson(["account", "erase", top.account]);
    expect(printed).toEqual({
      account: top.account,
      name: "Zebra 0",
      ...numbers,
      checkouts: 2,
      uploads: 4,
      unfinished_deletes: 2,
      idempotency_keys: 2,
      events: printed.events,
    });
    expect(await admin(["account", "erase", top.account])).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/attachments +8\n/),
      stderr: expect.stringMatching(/Nothing was erased\. To erase all of it, .* --yes <the name>/),
    });
    const orders = all.map(({ order }) => order).sort();
    expect((await admin(["account", "erase", top.account])).stderr).toContain(
      `The carrier may have letters of these orders. Ask it to delete its copies: ${orders.join(", ")}\n`,
    );
    expect(await admin(["account", "erase", top.account, "--yes", "zebra 0"])).toEqual(
      failure(2, "--yes must be the name of the account, which is: Zebra 0"),
    );
    expect(await everything()).toEqual(stored);
  });

  it("leaves one event of a tree, of 8 levels as well, and of everybody else every byte", async () => {
    const { top, all } = await customerTree(reseller, byExtent({ sample: 2, most: 7, all: 7 }));
    const { numbers } = await adminJson(["account", "erase", top.account]).then((numbers) => ({ numbers }));
    const allowAll = allowOnly("OperatorPolicy");
    const printed = await adminJson([
      "account",
      "erase",
      top.account.toLowerCase(),
      "--yes",
      "Zebra 0",
      "--wait",
      "0",
      "--on-behalf-of",
      "Ticket 1",
    ]);
    allowAll();
    expect(printed).toEqual({ ...numbers, erased: true });
    const left = await afterwards();
    expect(left).toEqual([erasure(top.account)]);
    expect(left.join()).not.toMatch(/Zebra/);
    for (const { account, order, request } of all.slice(1))
      expect(left.join()).not.toMatch(`${account}|${order}|${request}`);
    expect((await everything()).length).toBe(before.length + 1);
    for (const { key, attachments } of all) expect((await call("GET", attachments, { key })).status).toBe(401);
    expect(await checkInvariants(new Date())).toEqual([]);
    const { account: _, name: _name, ...kinds } = numbers;
    const { events } = await adminJson(["history", "account", top.account]);
    expect(events).toEqual([
      expect.objectContaining({
        type: "account.erased",
        account: top.account,
        resource: { type: "account", id: top.account, version: 2 },
        numbers: kinds,
        actor: { type: "operator", id: "local", on_behalf_of: "Ticket 1" },
        parent: null,
      }),
    ]);
    expect((await adminJson(["history", "account", reseller.id])).events.at(-1)).toEqual(events[0]);
    expect(await adminJson(["find", top.account])).toMatchObject({ found: [{ type: "account", id: top.account }] });
    const by = /The account \w{26} was erased at \S+Z by operator local on behalf of Ticket 1\.\n$/;
    expect(await erase(top.account)).toEqual(failure(1, by));
    expect((await admin(["find", top.account])).stdout).toMatch(
      / deleted\n[\s\S]*operator local on behalf of Ticket 1/,
    );
  });

  it("erases a root account, whose event is in the history of its id", async () => {
    const { accounts } = await apply({ accounts: { root: { name: "Zebra 0" } }, orders: { o: { account: "root" } } });
    const id = accounts.root?.id ?? "";
    expect((await erase(id)).code).toBe(0);
    expect(await afterwards()).toEqual([erasure(id)]);
    expect((await adminJson(["history", "account", id])).events).toMatchObject([
      { numbers: { accounts: 1, orders: 1 } },
    ]);
    expect(await admin(["account", "list"])).toMatchObject({ stdout: expect.not.stringContaining(id) });
  });

  it.runIf(exhaustive)("is completed by the same command, wherever it was killed", async () => {
    const { top } = await customerTree(reseller, byExtent({ sample: 2, most: 3, all: 7 }));
    // More than one transaction removes.
    const uploads = Array.from({ length: 60 }, () => keys.upload({ type: "request", id: top.request }, newId()));
    await transact(Object.fromEntries(uploads.map((put): [string, Write] => [put.sk, { put }])));
    const { account: _, name: _name, ...numbers } = await adminJson(["account", "erase", top.account]);
    let kills = 0;
    for (let writes = 0; ; writes += byExtent({ sample: 7, most: 5, all: 1 })) {
      let left = writes;
      const stop = interceptCalls(async ({ operation }, pass) => {
        if (!/^(TransactWriteItems|DeleteObject)$/.test(operation)) return pass();
        if (left < 0) throw new Error("killed");
        left -= 1;
        const result = await pass();
        if (left < 0) throw new Error("killed");
        return result;
      });
      const { code, stderr } = await erase(top.account);
      stop();
      // It was killed after its last write.
      if (code === 0 || stderr.includes("was erased at")) break;
      expect(stderr).toContain("killed");
      kills += 1;
    }
    expect(kills).toBeGreaterThan(3);
    expect(await afterwards()).toEqual([erasure(top.account)]);
    expect((await adminJson(["history", "account", top.account])).events).toMatchObject([{ numbers }]);
  });

  it.runIf(exhaustive)("finds everything of an account, also once its events have expired", async () => {
    const { top } = await customerTree(reseller, 2);
    for await (const { pk, sk } of scan())
      if (String(sk).startsWith(eventPrefix)) await transact({ event: { delete: { pk: String(pk), sk: String(sk) } } });
    expect((await erase(top.account)).code).toBe(0);
    expect(await afterwards()).toEqual([erasure(top.account)]);
  });

  it.runIf(exhaustive)(
    "says of an erase that has begun what is left of it, and lets nobody add to the account",
    async () => {
      const { top, all } = await customerTree(reseller, 2);
      const isFirstPartition = ({ operation, items }: TableCall) =>
        operation === "TransactWriteItems" && items.some(({ pk }) => pk.startsWith("DELETED#"));
      beforeTableCall(isFirstPartition, async () => {
        throw new Error("killed");
      });
      expect(await erase(top.account)).toEqual(failure(1, "killed"));
      expect((await admin(["check"])).stdout).toMatch(
        new RegExp(
          `notice +an erasure is complete +ACCOUNT#${top.account} ACCOUNT +it has begun and not ended: repeat`,
        ),
      );
      expect(await admin(["account", "erase", top.account])).toMatchObject({
        stderr: expect.stringContaining("Its erasure has begun, and this is left."),
      });
      const attached = await call("POST", top.attachments, { key: reseller.key, body: form() });
      expect([attached.status, (await call("GET", top.attachments, { key: top.key })).status]).toEqual([404, 401]);
      expect((await post(reseller.key, { name: "New" }, `/api/v1/accounts/${top.account}/switches`)).status).toBe(404);
      const inErased = "belongs to an account that is being erased";
      for (const [document, detail] of [
        [{ accounts: { a: { name: "A", parent: top.account } } }, inErased],
        [{ users: { a: { account: top.account, permissions: [] } } }, inErased],
        [{ orders: { a: { account: all[1]?.account } } }, inErased],
        [{ requests: { a: { order: top.order, type: "PORT_IN" } } }, inErased],
        [{ accounts: { a: { id: top.account, name: "A" } } }, "is being erased"],
      ] as const)
        expect(await admin(["apply", "-"], { input: JSON.stringify(document) })).toEqual(failure(1, detail));
      expect(await beginRun({ order_id: top.order, run: "new" }, new Date())).toMatchObject({
        next: "FAIL",
        reason: "The order's account is being erased.",
      });
      expect((await erase(top.account)).code).toBe(0);
      expect(await afterwards()).toEqual([erasure(top.account)]);
    },
  );

  it("stops what `apply` and the first step of a checkout have read before the mark", async () => {
    const { top } = await customerTree(reseller, 1);
    const marking = (of: Key, kind: string, set: { erasing: readonly string[] }) => {
      const writes = ({ operation, items }: TableCall) =>
        operation === "TransactWriteItems" && items.some(({ pk, sk }) => `${pk} ${sk}`.includes(kind));
      beforeTableCall(writes, () => transact({ mark: { update: of, set, when: {} } }));
    };
    marking(keys.account(top.account), "USER#", { erasing: ["other"] });
    const input = JSON.stringify({ users: { a: { account: top.account, permissions: [] } } });
    expect(await admin(["apply", "-"], { input })).toEqual(
      failure(1, "/users/a: belongs to an account that is being erased"),
    );
    marking(keys.order(top.order), " CHECKOUT", { erasing: ["other"] });
    expect(await beginRun({ order_id: top.order, run: "new" }, new Date())).toMatchObject({
      next: "FAIL",
      reason: "The order's account is being erased.",
    });
    expect(await get(keys.checkout(top.order))).toMatchObject({ run: "last" });
  });

  it.runIf(exhaustive)(
    "refuses while an order is checked out, also if that began a moment before, and keeps everything",
    async () => {
      const { top, all } = await customerTree(reseller, 2);
      const order = all[1]?.order ?? "";
      const stored = await everything();
      await storeRun(order, { run: "now", status: "RUNNING", started_at: new Date().toISOString() });
      const refused = `Nothing was erased. These orders are being checked out: ${order}. Repeat the command when`;
      for (const command of [() => admin(["account", "erase", top.account]), () => erase(top.account)])
        expect(await command()).toEqual(failure(1, refused));
      await storeRun(order, { status: "FAILED", reason: "Zebra" });
      const isMark = ({ updates }: TableCall) => updates.some(({ Key }) => Key.pk === keys.account(top.account).pk);
      beforeTableCall(isMark, async () => {
        await transact({ open: { put: { ...keys.openCheckout(order), id: order } } });
        await storeRun(order, { run: "now", status: "RUNNING", started_at: new Date().toISOString() });
      });
      expect(await erase(top.account)).toEqual(failure(1, refused));
      expect((await call("GET", top.attachments, { key: top.key })).status).toBe(200);
      await storeRun(order, { status: "FAILED", reason: "Zebra" });
      const withoutVersions = (all: readonly string[]) => all.filter((one) => !/"name":"Zebra \d"/.test(one));
      expect(withoutVersions(await everything()).length).toBe(withoutVersions(stored).length);
      expect((await erase(top.account)).code).toBe(0);
      expect(await afterwards()).toEqual([erasure(top.account)]);
    },
  );

  it.runIf(exhaustive)(
    "refuses an account that owns requests of an order of an account above, and names them",
    async () => {
      const { top, all } = await customerTree(reseller, 2);
      const second = all[1]?.account ?? "";
      const [request = ""] = (await adminJson(["request", "list", "--order", top.order]))
        .filter(({ account }: { account: string }) => account === second)
        .map(({ id }: { id: string }) => id);
      const named = `which would lack them: ${request} of the order ${top.order}. Erase the account of the order.`;
      const command = ["account", "erase", second, "--yes", "Zebra 1", "--wait", "0"];
      expect(await admin(command)).toEqual(failure(1, named));
      expect((await erase(top.account)).code).toBe(0);
    },
  );

  it.runIf(exhaustive)(
    "leaves nothing of what uploads, switches, apply, checkouts and a sweep write at the same time",
    async () => {
      const { top, all } = await customerTree(reseller, byExtent({ sample: 2, most: 3, all: 7 }));
      const one = await newSwitch(reseller.key, { name: "Busy" }, `/api/v1/accounts/${top.account}/switches`);
      let isOver = false;
      const outcomes = new Set<string>();
      const again = async (name: string, act: (nth: number) => Promise<unknown>) => {
        for (let nth = 0; !isOver; nth += 1) {
          outcomes.add(`${name} ${await act(nth).catch((error: Error) => error.constructor.name)}`);
          // Otherwise, the erase would take as long as all of these can write.
          await sleep(50);
        }
      };
      const status = async (response: Promise<{ readonly status: number }>) => (await response).status;
      const writers = [
        ...all.map(({ attachments, key }) =>
          again("upload", (nth) =>
            status(call("POST", attachments, { key: nth % 2 ? key : reseller.key, body: form() })),
          ),
        ),
        again("create", (nth) =>
          status(post(reseller.key, { name: `New ${nth}` }, `/api/v1/accounts/${top.account}/switches`)),
        ),
        again("patch", (nth) => status(patch(reseller.key, one.id, { name: `Busy ${nth}` }))),
        again("apply", async () => {
          await apply({
            users: { a: { account: top.account, permissions: [] } },
            orders: { o: { account: all.at(-1)?.account } },
            requests: { r: { order: "o", type: addMessagingNumbers } },
          });
        }),
        again("begin", async (nth) => (await beginRun({ order_id: newId(), run: `run-${nth}` }, new Date())).next),
        again("sweep", async () => (await sweepOrphanFiles({ now: new Date(), all: true })).finished),
      ];
      const erased = await erase(top.account, "--wait", "2");
      isOver = true;
      await Promise.all(writers);
      expect(erased, erased.stderr).toMatchObject({ code: 0 });
      for (const one of [
        "upload 201",
        "upload 404",
        "upload 401",
        "create 201",
        "create 404",
        "patch 200",
        "patch 404",
      ])
        expect(outcomes).toContain(one);
      const left = (await afterwards()).filter((item) => !item.includes('"SWEEP"'));
      expect(left).toEqual([erasure(top.account)]);
      expect(await checkInvariants(new Date())).toEqual([]);
    },
  );

  it.runIf(exhaustive)(
    "is not refused for requests of an order of its own that came while it read the table",
    async () => {
      const { top } = await customerTree(reseller, 1);
      const names = Array.from({ length: 4 }, (_, index) => `o${index}`);
      const requests = names.flatMap((order) =>
        Array.from({ length: 15 }, (_, index) => [`${order}r${index}`, { order, type: addMessagingNumbers }]),
      );
      // One part of the table is read after the orders came, and the others before.
      const othersAreRead = Promise.withResolvers<void>();
      let [begun, read] = [0, 0];
      const stop = interceptTableCalls(async ({ operation }, pass) => {
        if (operation !== "Scan") return pass();
        begun += 1;
        if (begun === 1) {
          await othersAreRead.promise;
          const orders = Object.fromEntries(names.map((name) => [name, { account: top.account }]));
          await apply({ orders, requests: Object.fromEntries(requests) });
          return pass();
        }
        return pass().finally(() => {
          read += 1;
          if (read === 7) othersAreRead.resolve();
        });
      });
      onTestFinished(() => void stop());
      expect(await erase(top.account)).toMatchObject({ code: 0 });
      expect(await afterwards()).toEqual([erasure(top.account)]);
    },
  );

  it.runIf(exhaustive)(
    "does not wait for the URLs of uploads, says until when they are valid, and the sweep removes what comes",
    async () => {
      const { top } = await customerTree(reseller, 1);
      const [open, completed] = [new Uint8Array([1]), new Uint8Array([2])];
      const sent = await sentUpload(top.attachments, top.key, completed);
      const data = { type: "request_attachment", data: { name: "Zebra" } };
      expect((await call("POST", completePath(top.attachments, sent.id), { key: top.key, json: data })).status).toBe(
        201,
      );
      const waiting = await prepareUpload(top.attachments, top.key, open);
      const erased = await erase(top.account);
      const said =
        /^Until (\S+Z), a file may still be sent to the URL of an upload\. Nobody can read it, and the sweep removes/m;
      expect(erased).toMatchObject({ code: 0, stderr: expect.stringMatching(said) });
      const until = Date.parse(said.exec(erased.stderr)?.[1] ?? "");
      expect(until).toBeGreaterThanOrEqual(Date.parse(waiting.expires_at));
      expect([await sendFile(waiting, open), await sendFile(sent, completed)]).toEqual([200, 200]);
      expect((await Array.fromAsync(allFiles())).length).toBe(2);
      await sweepOrphanFiles({ now: new Date(Date.now() + 2 * 86_400_000) });
      expect((await Array.fromAsync(allFiles())).length).toBe(0);
      expect((await afterwards()).filter((item) => !item.includes('"SWEEP"'))).toEqual([erasure(top.account)]);
    },
  );

  it.runIf(exhaustive)("removes the file of an upload that crashed before its metadata were written", async () => {
    const { top } = await customerTree(reseller, 1);
    await putFile(fileKey({ type: "order", id: top.order }, newId()), storedFile(new Uint8Array([1])));
    expect((await erase(top.account)).code).toBe(0);
    expect(await afterwards()).toEqual([erasure(top.account)]);
    expect((await Array.fromAsync(allFiles())).length).toBe(0);
  });

  it.runIf(exhaustive)(
    "erases a tree and one below it at the same time, and keeps the event of neither in an erased account",
    async () => {
      const { top, all } = await customerTree(reseller, 3);
      const last = all[2];
      const isEnd = ({ items }: TableCall) => items.some(({ sk }) => sk.startsWith("EVENT#")) && items.length > 2;
      beforeTableCall(
        (called) => called.operation === "TransactWriteItems" && isEnd(called),
        async () => {
          await transact({ mark: { update: keys.account(all[1]?.account ?? ""), set: { erasure: {} }, when: {} } });
        },
      );
      const below = await admin(["account", "erase", last?.account ?? "", "--yes", "Zebra 2", "--wait", "0"]);
      expect([below.code, await get(keys.account(last?.account ?? ""))]).toEqual([0, undefined]);
      expect((await erase(top.account)).code).toBe(0);
      expect(await afterwards()).toEqual([erasure(top.account)]);
    },
  );

  /** Marks an account, and is killed before the first API key is deleted. */
  const interrupt = async (account: string, name: string) => {
    const stop = interceptCalls(async ({ operation, command }, pass) => {
      if (operation === "TransactWriteItems" && JSON.stringify(command.input).includes("SET #erasure"))
        throw new Error("killed");
      return pass();
    });
    const result = await admin(["account", "erase", account, "--yes", name, "--wait", "0"]);
    stop();
    expect(result).toEqual(failure(1, "killed"));
  };

  it.runIf(exhaustive)(
    "is unknown to every endpoint, list and command once it is marked, until --cancel takes the mark back",
    async () => {
      const { top, all } = await customerTree(reseller, 2);
      const one = await newSwitch(top.key, { name: "Own" });
      const shown = async () => {
        const paths = [top.attachments, "/api/v1/switches", `/api/v1/switches/${one.id}`];
        const listed = `/api/v1/accounts/${top.account}/switches`;
        const answers = await Promise.all([...paths, listed].map((path) => call("GET", path, { key: top.key })));
        const byReseller = [await call("GET", `/api/v1/switches/${one.id}`, { key: reseller.key })];
        const above = await call("GET", "/api/v1/switches", { key: reseller.key });
        const lists: unknown[] = [above.body];
        const counted = `"total":${above.text.split('"inserted_at"').length - 1}`;
        expect(above.text).toContain(counted);
        for (const list of [
          ["account", "list", "--account", reseller.id],
          ["switch", "list", "--account", reseller.id],
          ["switch", "list"],
          ["user", "list"],
          ["key", "list"],
        ])
          lists.push(await adminJson(list));
        return [...answers, ...byReseller]
          .map(({ status }) => status)
          .concat([top.account, one.id].some((id) => JSON.stringify(lists).includes(id)) ? 1 : 0);
      };
      const stored = await everything();
      expect(await shown()).toEqual([200, 200, 200, 200, 200, 1]);
      await interrupt(top.account, "Zebra 0");
      expect(await shown()).toEqual([404, 401, 404, 404, 404, 0]);
      expect((await post(top.key, { name: "New" })).status).toBe(401);
      const folder = "/tmp/nowhere";
      for (const command of [["show"], ["export", "--to", folder], ["rename", "New"], ["feature", "on"]])
        expect(await admin(["account", command[0] ?? "", top.account, ...command.slice(1)])).toEqual(
          failure(1, "is being erased"),
        );
      for (const command of [
        ["switch", "show", one.id],
        ["attachment", "list", top.order],
        ["order", "checkout", top.order],
      ])
        expect(await admin(command)).toEqual(failure(1, `The account ${top.account} is being erased`));
      expect(await admin(["find", one.id])).toEqual(failure(1, "Nothing was found."));
      expect(await admin(["account", "erase", top.account])).toMatchObject({
        stderr: expect.stringContaining("Its erasure was interrupted before: --cancel takes it back."),
      });
      // The account below was marked by the same call.
      expect(await admin(["account", "erase", all[1]?.account ?? "", "--cancel"])).toEqual(
        failure(1, `is being erased with ${top.account}, which is above it.`),
      );
      expect(await admin(["account", "erase", top.account, "--cancel", "--yes", "Zebra 0"])).toEqual(
        failure(2, "Specify --yes or --cancel, not both."),
      );
      expect(await adminJson(["account", "erase", top.account, "--cancel"])).toEqual({
        account: top.account,
        name: "Zebra 0",
        erased: false,
      });
      expect(await shown()).toEqual([200, 200, 200, 200, 200, 1]);
      const withoutVersions = (all: readonly string[]) => all.filter((item) => !/"name":"Zebra \d"/.test(item));
      expect(withoutVersions(await everything())).toEqual(withoutVersions(stored));
      expect(await admin(["account", "erase", top.account, "--cancel"])).toEqual(
        failure(1, `The account ${top.account} is not being erased: there is nothing to take back.`),
      );
    },
  );

  it.runIf(exhaustive)("leaves nothing among what operators look at first, from its mark on", async () => {
    const { top } = await customerTree(reseller, 1);
    const { orders } = await apply({ orders: { open: { account: top.account }, done: { account: top.account } } });
    const [open = "", done = ""] = [orders.open?.id, orders.done?.id];
    const at = new Date().toISOString();
    const late = {
      order: done,
      id: newId(),
      parent: { type: "order", id: done },
      name: "LOA",
      change: "created",
      at,
    } as const;
    await storeRun(open);
    await transact({
      open: { put: { ...keys.openCheckout(open), id: open } },
      order: { update: keys.order(done), set: { state: "CHECKED_OUT" }, when: { exists: true } },
      late: listLateChange(late),
    });
    const shown = async () => {
      const lists = [["today"], ["order", "list", "--failed"], ["order", "list", "--late"]];
      const found: string[][] = [];
      for (const list of lists) {
        const text = JSON.stringify(await adminJson(list));
        found.push([open, done].filter((id) => text.includes(id)));
      }
      return found;
    };
    expect(await shown()).toEqual([[open, done], [open], [done]]);
    await interrupt(top.account, "Zebra 0");
    expect(await shown()).toEqual([[], [], []]);
  });

  it("is taken back by --cancel until the moment before its first key goes", async () => {
    const { top } = await customerTree(reseller, 1);
    const cancel = async () => void (await unmarkTree(top.account, () => true));
    beforeTableCall(({ updates }: TableCall) => JSON.stringify(updates).includes("SET #erasure"), cancel);
    const meanwhile = `Meanwhile, the erasure of ${top.account} was taken back, or another command has completed it.`;
    expect(await erase(top.account)).toEqual(failure(1, meanwhile));
    expect((await call("GET", top.attachments, { key: top.key })).status).toBe(200);
  });

  it.runIf(exhaustive)("cannot be taken back once its API keys are gone, which --cancel says", async () => {
    const { top, all } = await customerTree(reseller, 2);
    beforeTableCall(
      ({ operation, items }: TableCall) =>
        operation === "TransactWriteItems" && items.some(({ pk }) => pk.startsWith("SWITCH#")),
      async () => {
        throw new Error("killed");
      },
    );
    expect(await erase(top.account)).toEqual(failure(1, "killed"));
    for (const { account } of all) {
      expect(await admin(["account", "erase", account, "--cancel"])).toEqual(
        failure(1, `The erasure of ${account} can't be taken back, because its API keys are gone.`),
      );
      expect(await get(keys.account(account))).toMatchObject({ erasing: [expect.any(String)] });
    }
    expect((await erase(top.account)).code).toBe(0);
    expect(await afterwards()).toEqual([erasure(top.account)]);
  });

  it.runIf(exhaustive)(
    "that is refused leaves the mark of another one, so that nothing is added to what that one erases",
    async () => {
      const { top, all } = await customerTree(reseller, 3);
      const [, { account: middle, order: running } = top, last = top] = all;
      await interrupt(last.account, "Zebra 2");
      const isMark = ({ updates }: TableCall) => updates.some(({ Key }) => Key.pk === keys.account(top.account).pk);
      beforeTableCall(isMark, async () => {
        await transact({ open: { put: { ...keys.openCheckout(running), id: running } } });
        await storeRun(running, { run: "now", status: "RUNNING", started_at: new Date().toISOString() });
      });
      expect(await erase(top.account)).toEqual(failure(1, `These orders are being checked out: ${running}`));
      const path = `/api/v1/accounts/${last.account}/switches`;
      expect((await post(last.key, { name: "Late" }, path)).status).toBe(404);
      expect((await call("POST", last.attachments, { key: last.key, body: form() })).status).toBe(404);
      expect(await beginRun({ order_id: last.order, run: "new" }, new Date())).toMatchObject({ next: "FAIL" });
      expect((await call("GET", top.attachments, { key: top.key })).status).toBe(200);
      expect((await get(keys.account(middle)))?.erasing).toBeUndefined();
      expect((await admin(["account", "erase", last.account, "--yes", "Zebra 2", "--wait", "0"])).code).toBe(0);
      await storeRun(running, { status: "FAILED", reason: "Zebra" });
      expect((await erase(top.account)).code).toBe(0);
      expect(await afterwards()).toEqual([erasure(top.account)]);
    },
  );

  it.runIf(exhaustive)(
    "is refused for an account whose users keys of other accounts impersonate, which `check` reports, too",
    async () => {
      const { top } = await customerTree(reseller, 1);
      const [user] = await adminJson(["user", "list", "--account", top.account]);
      const [key] = await adminJson(["key", "list", "--account", reseller.id]);
      const stored = await everything();
      await transact({ key: { update: keys.apiKey(key.sha256), set: { user: user.id }, when: { exists: true } } });
      const rule = "an API key's user is of its account or of one above";
      expect((await admin(["check"])).stdout).toMatch(
        `${rule}  KEY#${key.sha256} KEY  its user ${user.id} is of the account ${top.account}`,
      );
      const named = `These API keys of other accounts impersonate its users: ${key.id} of the account ${reseller.id}. Replace`;
      for (const command of [() => admin(["account", "erase", top.account]), () => erase(top.account)])
        expect(await command()).toEqual(failure(1, named));
      await transact({ key: { update: keys.apiKey(key.sha256), set: { user: key.user }, when: { exists: true } } });
      expect(await everything()).toEqual(stored);
      expect((await erase(top.account)).code).toBe(0);
      expect(await afterwards()).toEqual([erasure(top.account)]);
    },
  );
});
