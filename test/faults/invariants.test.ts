import { beforeEach, describe, expect, it } from "vitest";
import { checkInvariants } from "../../infra/admin/check/check.ts";
import { fileKey } from "../../shared/attachments/file-keys.ts";
import { allFiles, putFile, removeFile } from "../../shared/attachments/files.ts";
import type { Write } from "../../shared/table/expressions.ts";
import { type Key, keys } from "../../shared/table/keys.ts";
import { scan } from "../../shared/table/read.ts";
import { transact } from "../../shared/table/write.ts";
import { upload } from "../support/fixtures/attachments.ts";
import { orderWithOneAttachment } from "../support/fixtures/orders.ts";
import { storeRun } from "../support/fixtures/runs.ts";
import { newSwitch, switchesPath } from "../support/fixtures/switches.ts";
import { tenants } from "../support/fixtures/tenants.ts";
import { storedFile } from "../support/fixtures/upload-content.ts";
import { admin } from "../support/requests/admin.ts";
import { call } from "../support/requests/client.ts";
import { startOnNewTable } from "../support/servers/own-table.ts";

const referenceId = "6f2c1d0e-8a4b-4c3d-9e5f-0a1b2c3d4e5f";
const oneByte = storedFile(new Uint8Array([1]));
const signedPdf = storedFile(Buffer.from("%PDF-1.7 signed"));
const unknownId = "01ARZ3NDEKTSV4RRFFQ69G5FAV";
const write = (one: Write) => transact({ one });

/** Creates a tenant that has each kind of item, in a consistent state. */
const consistentTenant = async () => {
  const t = await tenants();
  const key = t.key("acme");
  const path = t.attachments("request", "acme");
  const { id } = await upload(path, key, { "data[reference_id]": referenceId });
  const gone = await upload(path, key);
  await upload(t.attachments("order", "acme"), key);
  await call("DELETE", `${path}/${gone.id}`, { key });
  const east = `/api/v1/accounts/${t.account("east")}/switches`;
  const created = await newSwitch(key, { name: "Primary" }, east);
  const dropped = await newSwitch(key, { name: "Dropped" });
  await call("DELETE", `${switchesPath}/${dropped.id}`, { key });
  const parent = { type: "request", id: t.request("acme") } as const;
  return { attachment: id, parent, switch: created.id, acme: t.account("acme"), east: t.account("east") };
};

/** The tenant, created once and copied for each test. It has items and the keys of its files. */
const t = await consistentTenant();
const items = await Array.fromAsync(scan(), (item) => ({ ...item, pk: String(item.pk), sk: String(item.sk) }));
const files = await Array.fromAsync(allFiles(), ({ key }) => key);

beforeEach(async () => {
  await startOnNewTable();
  await transact(Object.fromEntries(items.map((put) => [`${put.pk} ${put.sk}`, { put }])));
  for (const key of files) await putFile(key, signedPdf);
});

const findKey = async (prefix: string): Promise<Key> => {
  const items = await Array.fromAsync(scan());
  const item = items.find(({ sk }) => String(sk).startsWith(prefix));
  return { pk: String(item?.pk), sk: String(item?.sk) };
};

const rules = async (now = new Date()) => (await checkInvariants(now)).map(({ level, rule }) => `${level}: ${rule}`);

describe("the check of the invariants", () => {
  it("reports a file without metadata as a notice, and as a violation once the sweep should have removed it", async () => {
    await putFile(fileKey(t.parent, unknownId), oneByte);
    expect(await rules()).toEqual(["notice: a file has its metadata"]);
    const later = new Date(Date.now() + 3 * 86_400_000);
    expect(await rules(later)).toEqual(["violation: a file has its metadata"]);
    const day = (days: number) => new Date(later.getTime() - days * 86_400_000).toISOString().slice(0, 10);
    for (const [swept_on, level] of [
      [day(1), "notice"],
      [day(3), "violation"],
    ] as const) {
      await transact({ sweep: { put: { ...keys.sweep(), first_on: "2016-08-01", swept_on } } });
      expect(await rules(later)).toEqual([`${level}: a file has its metadata`]);
    }
    // The file dates from July 30, 2016, and a first sweep goes two days back.
    for (const [first_on, detail] of [
      ["2016-08-01", "the sweep will remove it"],
      ["2016-08-02", expect.stringContaining("no sweep removes it")],
    ] as const) {
      await transact({ sweep: { put: { ...keys.sweep(), first_on } } });
      expect(await checkInvariants(new Date())).toMatchObject([{ detail }]);
    }
  });

  /** Damage to the data, by the only rule that it breaks. */
  const damages: Readonly<Record<string, () => Promise<unknown>>> = {
    "a file has the size in its metadata": () => putFile(fileKey(t.parent, t.attachment), oneByte),
    "an attachment has its parent": () => write({ delete: keys.parent(t.parent) }),
    "attachment_count is exact": () => write({ update: keys.parent(t.parent), add: { attachment_count: 1 }, when: {} }),
    "a reference_id has its item": () => write({ delete: keys.reference(t.parent, referenceId) }),
    "a reference has its owner": () =>
      write({ put: { ...keys.reference(t.parent, referenceId.replace("6", "7")), attachment: t.attachment } }),
    "a switch has its name": async () => write({ delete: await findKey("SWITCH_NAME#") }),
    "a switch's name has its owner": () => write({ put: { ...keys.switchName(t.acme, "hash"), switch: t.switch } }),
    "a switch has its owner": () => write({ delete: keys.switchOwner(t.switch) }),
    "a switch's owner has its switch": () => write({ put: { ...keys.switchOwner(unknownId), account: t.acme } }),
    "ancestors are those of the account": () =>
      write({ update: keys.parent(t.parent), set: { ancestors: [t.east] }, when: {} }),
    "a switch is in its lists": () => write({ delete: keys.switchEntry(t.acme, t.switch) }),
    "a list's entry has its switch": () => write({ put: { ...keys.switchEntry(t.acme, unknownId), id: unknownId } }),
    "switch_count is exact": () =>
      write({ update: keys.switchCount(t.east, t.switch), add: { switch_count: -1 }, when: {} }),
  };

  it.each(Object.entries(damages))("reports a violation: %s", async (rule, damage) => {
    await damage();
    expect(await rules()).toEqual([`violation: ${rule}`]);
  });

  it("reports nothing about an order that an operator has settled", async () => {
    const { id } = await orderWithOneAttachment();
    await storeRun(id, { outcome_unknown: true, calls_end_by: new Date(Date.now() - 60_000).toISOString() });
    await write({ put: { ...keys.openCheckout(id), id } });
    const settled = await admin(["order", "settle", id, "--checked-out", "--reason", "Their support"]);
    expect([settled.code, await rules()]).toEqual([0, []]);
  });

  it("reports an attachment whose id is not a ULID, and a switch that is damaged, with all that is wrong with them", async () => {
    await write({ put: { ...keys.attachment(t.parent, "no-ulid"), id: "no-ulid" } });
    await write({ update: keys.switch(t.switch), set: { name: 1 }, when: {} });
    expect((await rules()).sort()).toEqual(
      [
        "an attachment's id is a ULID",
        "attachment_count is exact",
        "an item can be read",
        "an item can be read",
        "a list's entry has its switch",
        "a list's entry has its switch",
        "a switch's name has its owner",
        "switch_count is exact",
        "switch_count is exact",
      ]
        .map((rule) => `violation: ${rule}`)
        .sort(),
    );
  });

  it("reports an unfinished delete, a failed checkout without an entry, and an entry without such a checkout", async () => {
    const gone = "01M7YXWTHWFW0WK9GRTP0KZTYG";
    await putFile(fileKey(t.parent, gone), signedPdf);
    for (const item of [
      { ...keys.unfinishedDelete(t.parent, unknownId), id: "its file is gone, so that nothing is left to do" },
      { ...keys.unfinishedDelete(t.parent, gone), id: gone },
      { ...keys.openCheckout("c"), id: "c" },
      { ...keys.openCheckout("b"), id: "b" },
    ])
      await write({ put: item });
    await storeRun("a", { status: "FAILED" });
    await storeRun("b", { status: "SUCCEEDED" });
    const open = "violation: an open checkout has its entry";
    expect(await rules()).toEqual(["notice: a file has its metadata", open, open, open]);
    const days = 24 * 3_600_000;
    expect(await rules(new Date(Date.now() + 9 * days))).not.toContain("violation: a file has its metadata");
  });
});

describe("admin check", () => {
  it("lists the first thousand problems only, so that a wrong table does not take its memory", async () => {
    const id = (n: number) => `01ARZ3NDEKTSV4RRFFQ69${String(n).padStart(5, "0")}`;
    for (let start = 0; start < 1_050; start += 75) {
      const puts = Array.from({ length: 75 }, (_, n) => ({
        ...keys.reference(t.parent, id(start + n)),
        attachment: "x",
      }));
      await transact(Object.fromEntries(puts.map((put) => [put.sk, { put }])));
    }
    const { code, stdout, stderr } = await admin(["check", "--json"]);
    expect([code, JSON.parse(stdout).length]).toEqual([1, 1_000]);
    expect(stderr).toContain("There may be more than these 1,000.");
  });

  it("reports that no problem was found, or lists the violations and exits with 1", async () => {
    const consistent = await admin(["check"]);
    expect([consistent.code, consistent.stdout]).toEqual([0, "No problems found.\n"]);
    await removeFile(fileKey(t.parent, t.attachment));
    const damaged = await admin(["check", "--json"]);
    const at = `REQUEST#${t.parent.id} ATTACHMENT#${t.attachment}`;
    const detail = `there is no file ${fileKey(t.parent, t.attachment)}`;
    const problem = { level: "violation", rule: "metadata has its file", at, detail };
    expect([damaged.code, JSON.parse(damaged.stdout)]).toEqual([1, [problem]]);
    expect((await admin(["check"])).stdout).toContain("metadata has its file");
  });
});
