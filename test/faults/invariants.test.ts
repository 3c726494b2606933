import { beforeEach, describe, expect, it } from "vitest";
import { checkInvariants } from "../../infra/admin/invariants.ts";
import { putFile, removeFile } from "../../shared/attachments/files.ts";
import type { Write } from "../../shared/table/expressions.ts";
import { fileKey, type Key, keys } from "../../shared/table/keys.ts";
import { scan } from "../../shared/table/read.ts";
import { transact } from "../../shared/table/write.ts";
import { upload } from "../support/fixtures/attachments.ts";
import { makeSwitch, switchesPath } from "../support/fixtures/switches.ts";
import { tenants } from "../support/fixtures/tenants.ts";
import { admin } from "../support/processes/admin-cli.ts";
import { call } from "../support/requests/client.ts";
import { startAfresh } from "../support/servers/own-table.ts";

const uuid = "6f2c1d0e-8a4b-4c3d-9e5f-0a1b2c3d4e5f";
const write = (one: Write) => transact({ one });

/** A tenant with a little of everything, all in order. */
const healthy = async () => {
  const t = await tenants();
  const key = t.key("acme");
  const path = t.attachments("request", "acme");
  const { id } = await upload(path, key, { "data[reference_id]": uuid });
  const gone = await upload(path, key);
  await upload(t.attachments("order", "acme"), key);
  await call("DELETE", `${path}/${gone.id}`, { key });
  const east = `/api/v1/accounts/${t.account("east")}/switches`;
  const made = await makeSwitch(key, { name: "Primary" }, east);
  const dropped = await makeSwitch(key, { name: "Dropped" });
  await call("DELETE", `${switchesPath}/${dropped.id}`, { key });
  const parent = { type: "request", id: t.request("acme") } as const;
  return { attachment: id, parent, switch: made.id, acme: t.account("acme"), east: t.account("east") };
};

let t: Awaited<ReturnType<typeof healthy>>;
beforeEach(async () => {
  await startAfresh();
  t = await healthy();
});

const keyLike = async (prefix: string): Promise<Key> => {
  const items = await Array.fromAsync(scan("all"));
  const item = items.find(({ sk }) => String(sk).startsWith(prefix));
  return { pk: String(item?.pk), sk: String(item?.sk) };
};

const rules = async (now = new Date()) => (await checkInvariants(now)).map(({ level, rule }) => `${level}: ${rule}`);

describe("the check", () => {
  it("finds nothing wrong with what the service has written", async () => {
    expect(await checkInvariants(new Date())).toEqual([]);
  });

  it("finds metadata without its file, and a file without its metadata", async () => {
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

  it("takes a file without metadata for a thing of the sweep, until the sweep must have been there", async () => {
    const content = new Uint8Array([1]);
    const sha256 = "4bf5122f344554c53bde2ebb8cd2b7e3d1600ad631c385a5d7cce23c7785459a";
    const file = { content, sha256, filename: "a", contentType: "text/plain" };
    await putFile(fileKey(t.parent, "01ARZ3NDEKTSV4RRFFQ69G5FAV"), file);
    expect(await rules()).toEqual(["notice: a file has its metadata"]);
    expect(await rules(new Date(Date.now() + 3 * 86_400_000))).toEqual(["violation: a file has its metadata"]);
  });

  it.each<[string, () => Promise<unknown>, string[]]>([
    [
      "a count that is wrong",
      () => write({ update: keys.parent(t.parent), add: { attachment_count: 1 }, when: {} }),
      ["violation: attachment_count is exact"],
    ],
    [
      "a reference_id without its item",
      () => write({ delete: keys.reference(t.parent, uuid) }),
      ["violation: a reference_id has its item"],
    ],
    [
      "a reference without its owner",
      () => write({ put: { ...keys.reference(t.parent, uuid.replace("6", "7")), attachment: t.attachment } }),
      ["violation: a reference has its owner"],
    ],
    [
      "a delete that was not finished",
      () => write({ put: { ...keys.unfinishedDelete(t.parent, "01ARZ3NDEKTSV4RRFFQ69G5FAV"), id: "x" } }),
      ["notice: a delete is finished"],
    ],
    [
      "a switch that has lost its name",
      async () => write({ delete: await keyLike("SWITCH_NAME#") }),
      ["violation: a switch has its name"],
    ],
    [
      "a name that belongs to nobody",
      () => write({ put: { ...keys.switchName(t.acme, "hash"), switch: t.switch } }),
      ["violation: a switch's name has its owner"],
    ],
    [
      "a switch that is missing in a list",
      () => write({ delete: keys.switchEntry(t.acme, t.switch) }),
      ["violation: a switch is in its lists"],
    ],
    [
      "an entry of a list without its switch",
      () =>
        write({ put: { ...keys.switchEntry(t.acme, "01ARZ3NDEKTSV4RRFFQ69G5FAV"), id: "01ARZ3NDEKTSV4RRFFQ69G5FAV" } }),
      ["violation: a list's entry has its switch"],
    ],
    [
      "a count of switches that is wrong",
      () => write({ update: keys.account(t.east), add: { switch_count: -1 }, when: {} }),
      ["violation: switch_count is exact"],
    ],
  ])("finds %s", async (_, spoil, found) => {
    await spoil();
    expect(await rules()).toEqual(found);
  });
});

describe("admin check", () => {
  it("says that everything holds, or what does not, and then exits with 1", async () => {
    const good = await admin(["check"]);
    expect([good.code, good.stdout]).toEqual([0, "No problems found.\n"]);
    await removeFile(fileKey(t.parent, t.attachment));
    const bad = await admin(["check", "--json"]);
    expect([bad.code, JSON.parse(bad.stdout)]).toMatchObject([1, [{ rule: "metadata has its file" }]]);
    expect((await admin(["check"])).stdout).toContain("metadata has its file");
  });
});
