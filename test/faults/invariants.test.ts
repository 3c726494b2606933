import { beforeEach, describe, expect, it } from "vitest";
import { checkInvariants } from "../../infra/admin/invariants.ts";
import { fileKey } from "../../shared/attachments/file-keys.ts";
import { allFiles, putFile, removeFile } from "../../shared/attachments/files.ts";
import type { Write } from "../../shared/table/expressions.ts";
import { type Key, keys } from "../../shared/table/keys.ts";
import { scan } from "../../shared/table/read.ts";
import { transact } from "../../shared/table/write.ts";
import { upload } from "../support/fixtures/attachments.ts";
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

/** Creates a tenant with some of everything, in a consistent state. */
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

/** The tenant, created once and copied for each test: its items and the keys of its files. */
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
  it("finds no violation in what the service has written", async () => {
    expect(await checkInvariants(new Date())).toEqual([]);
  });

  it("reports metadata without a file", async () => {
    await removeFile(fileKey(t.parent, t.attachment));
    expect(await checkInvariants(new Date())).toEqual([
      {
        level: "violation",
        rule: "metadata has its file",
        at: `REQUEST#${t.parent.id} ATTACHMENT#${t.attachment}`,
        detail: `there is no file ${fileKey(t.parent, t.attachment)}`,
      },
    ]);
  });

  it("reports a file without metadata as a notice, and as a violation once the sweep should have removed it", async () => {
    await putFile(fileKey(t.parent, unknownId), oneByte);
    expect(await rules()).toEqual(["notice: a file has its metadata"]);
    expect(await rules(new Date(Date.now() + 3 * 86_400_000))).toEqual(["violation: a file has its metadata"]);
    // The file is of July 30, 2016, and a first sweep goes two days back.
    for (const [first_on, detail] of [
      ["2016-08-01", "the sweep will remove it"],
      ["2016-08-02", expect.stringContaining("no sweep removes it")],
    ] as const) {
      await transact({ sweep: { put: { ...keys.sweep(), first_on } } });
      expect(await checkInvariants(new Date())).toMatchObject([{ detail }]);
    }
  });

  it.each<[what: string, damage: () => Promise<unknown>, ...violations: string[]]>([
    [
      "a file of another size",
      () => putFile(fileKey(t.parent, t.attachment), oneByte),
      "a file has the size in its metadata",
    ],
    [
      "attachments without their order or request",
      () => write({ delete: keys.parent(t.parent) }),
      "an attachment has its parent",
    ],
    [
      "a wrong count of attachments",
      () => write({ update: keys.parent(t.parent), add: { attachment_count: 1 }, when: {} }),
      "attachment_count is exact",
    ],
    [
      "a reference_id without its reference item",
      () => write({ delete: keys.reference(t.parent, referenceId) }),
      "a reference_id has its item",
    ],
    [
      "a reference item without its attachment",
      () => write({ put: { ...keys.reference(t.parent, referenceId.replace("6", "7")), attachment: t.attachment } }),
      "a reference has its owner",
    ],
    [
      "an attachment whose id is not a ULID",
      () => write({ put: { ...keys.attachment(t.parent, "no-ulid"), id: "no-ulid" } }),
      "an attachment's id is a ULID",
      "attachment_count is exact",
    ],
    [
      "a switch without its name item",
      async () => write({ delete: await findKey("SWITCH_NAME#") }),
      "a switch has its name",
    ],
    [
      "a switch that is damaged",
      () => write({ update: keys.switch(t.switch), set: { name: 1 }, when: {} }),
      "a list's entry has its switch",
      "a list's entry has its switch",
      "a switch can be read",
      "a switch's name has its owner",
      "switch_count is exact",
      "switch_count is exact",
    ],
    [
      "a name item without its switch",
      () => write({ put: { ...keys.switchName(t.acme, "hash"), switch: t.switch } }),
      "a switch's name has its owner",
    ],
    [
      "a switch that is missing from a list",
      () => write({ delete: keys.switchEntry(t.acme, t.switch) }),
      "a switch is in its lists",
    ],
    [
      "a list entry without its switch",
      () => write({ put: { ...keys.switchEntry(t.acme, unknownId), id: unknownId } }),
      "a list's entry has its switch",
    ],
    [
      "a wrong count of switches",
      () => write({ update: keys.account(t.east), add: { switch_count: -1 }, when: {} }),
      "switch_count is exact",
    ],
  ])("reports %s", async (_, damage, ...violations) => {
    await damage();
    expect(await rules()).toEqual(violations.map((rule) => `violation: ${rule}`));
  });

  it("notes an unfinished delete, a failed checkout without an entry, and an entry without such a checkout", async () => {
    for (const item of [
      { ...keys.unfinishedDelete(t.parent, unknownId), id: "x" },
      { ...keys.openCheckout("c"), id: "c" },
      { ...keys.checkout("a"), status: "FAILED" },
      { ...keys.checkout("b"), status: "SUCCEEDED" },
      { ...keys.openCheckout("b"), id: "b" },
    ])
      await write({ put: item });
    const open = "notice: an open checkout has its entry";
    expect(await rules()).toEqual(["notice: a delete is finished", open, open, open]);
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
    expect([damaged.code, JSON.parse(damaged.stdout)]).toMatchObject([1, [{ rule: "metadata has its file" }]]);
    expect((await admin(["check"])).stdout).toContain("metadata has its file");
  });
});
