import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import { beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { historyOf } from "../../../infra/admin/history/history.ts";
import { listen } from "../../../infra/local/listen.ts";
import { fileKey } from "../../../shared/attachments/file-keys.ts";
import { putFile, removeFile } from "../../../shared/attachments/files.ts";
import { newId } from "../../../shared/schema/fields.ts";
import { keys } from "../../../shared/table/keys.ts";
import { transact } from "../../../shared/table/write.ts";
import { apply } from "../../../shared/tenants/apply.ts";
import { beforeTableCall, type TableCall } from "../../support/fault-proxy/table-proxy.ts";
import { operator } from "../../support/fixtures/apply.ts";
import { upload } from "../../support/fixtures/attachments.ts";
import { newFolder } from "../../support/fixtures/new-folder.ts";
import { newOrder } from "../../support/fixtures/orders.ts";
import { addMessagingNumbers, tenants } from "../../support/fixtures/tenants.ts";
import { storedFile } from "../../support/fixtures/upload-content.ts";
import { allowOnly } from "../../support/models/iam.ts";
import { failure } from "../../support/processes/failure.ts";
import { admin, adminJson } from "../../support/requests/admin.ts";
import { call } from "../../support/requests/client.ts";

let folder: string;
beforeEach(() => {
  folder = newFolder();
});

const content = "%PDF-1.7 signed";
const downloads = async (parent: { type: "request" | "order"; id: string }) =>
  (await Array.fromAsync(historyOf(parent))).filter(({ type }) => type === "attachment.downloaded");

/** An order with an attachment, and the command that downloads it. */
const attached = async () => {
  const order = await newOrder(addMessagingNumbers);
  const attachment = await order.attach("order");
  const download = (...options: string[]) => admin(["attachment", "download", order.id, attachment, ...options]);
  return { order, attachment, parent: { type: "order", id: order.id } as const, download };
};

describe("attachment download", () => {
  it.each(["request", "order"] as const)("writes the file of an attachment of a %s, and records it", async (type) => {
    const order = await newOrder(addMessagingNumbers);
    const attachment = await order.attach(type === "order" ? "order" : 0);
    const allowAll = allowOnly("EvidencePolicy");
    const parent = { type, id: (type === "order" ? order.id : order.requests[0]) ?? "" };
    const printed = await adminJson(["attachment", "download", parent.id, attachment.toLowerCase(), "--to", folder]);
    const path = join(folder, `${attachment}-loa.pdf`);
    expect(printed).toEqual({ id: attachment, path, bytes: 15, sha256: expect.stringMatching(/^[0-9a-f]{64}$/) });
    expect(await readFile(path, "utf8")).toBe(content);
    if (process.platform !== "win32") expect((await stat(path)).mode & 0o777).toBe(0o600);
    allowAll();
    expect(await downloads(parent)).toMatchObject([
      {
        actor: { type: "operator", id: "local" },
        resource: { type: "attachment", id: attachment, version: 1 },
        parent,
        changed: null,
      },
    ]);
  });

  it("stands in the history between what happened before and afterwards, in either order", async () => {
    const { order, parent, download } = await attached();
    for (const path of ["1.pdf", "2.pdf"]) expect((await download("--to", join(folder, path))).code).toBe(0);
    await order.attach("order");
    expect((await download("--to", join(folder, "3.pdf"))).code).toBe(0);
    const told = async (newestFirst: boolean) =>
      (await Array.fromAsync(historyOf(parent, { newestFirst }))).map(({ type }) => type.replace(/^.*\./, ""));
    const oldestFirst = ["created", "created", "downloaded", "downloaded", "created", "downloaded"];
    expect([await told(false), (await told(true)).toReversed()]).toEqual([oldestFirst, oldestFirst]);
  });

  it("needs no permission to say that there is no such request or order", async () => {
    allowOnly("EvidencePolicy");
    const id = newId();
    const none = `There is no request and no order ${id}: \`order list\` lists the orders of an account.`;
    expect(await admin(["attachment", "download", id, newId()])).toEqual(failure(1, none));
  });

  it("may see when and by which key an attachment was deleted, and not whose the key is", async () => {
    const t = await tenants();
    const [path, key] = [t.attachments("request", "acme"), t.key("acme")];
    const { id } = await upload(path, key);
    await call("DELETE", `${path}/${id}`, { key });
    allowOnly("EvidencePolicy");
    const deleted = new RegExp(
      `The attachment ${id} was deleted at \\S+Z by -: key \\w+, user \\w+: see \`history request`,
    );
    expect(await admin(["attachment", "download", t.request("acme"), id])).toEqual(failure(1, deleted));
  });

  it("leaves no part of a file after Ctrl-C", async () => {
    const { order, attachment } = await attached();
    const slow = await listen(
      createServer((_, outgoing) => outgoing.writeHead(200, { "content-length": 15 }).write("%")),
    );
    onTestFinished(slow.close);
    const args = ["infra/admin/admin.ts", "attachment", "download", order.id, attachment, "--to", folder];
    const env = { ...process.env, AWS_ENDPOINT_URL_S3: slow.url };
    const child = spawn(process.execPath, args, { env, stdio: "ignore" });
    await vi.waitUntil(async () => (await readdir(folder)).length > 0, { timeout: 20_000 });
    child.kill("SIGINT");
    const [code] = await once(child, "close");
    expect([code, await readdir(folder)]).toEqual([130, []]);
  });

  it("replaces an existing file only with --force", async () => {
    const { parent, download } = await attached();
    const path = join(folder, "evidence");
    await writeFile(path, "mine");
    const exists = `${path} exists: choose another path with --to, or replace it with --force.`;
    expect(await download("--to", path)).toEqual(failure(1, exists));
    expect([await readFile(path, "utf8"), await downloads(parent)]).toEqual(["mine", []]);
    expect((await download("--to", path, "--force")).code).toBe(0);
    expect(await readFile(path, "utf8")).toBe(content);
  });

  it("records nothing if the file cannot be written", async () => {
    const { parent, download } = await attached();
    const cannot = /The file cannot be written \(ENOENT.+\): choose another path with --to\.\n$/;
    expect(await download("--to", join(folder, "no", "file"))).toEqual(failure(1, cannot));
    expect(await downloads(parent)).toEqual([]);
  });

  it("writes into the operator's folder, under a name that no program acts on, whatever the filename is", async () => {
    const { order, parent, attachment } = await attached();
    const long = "é".repeat(130);
    const names = {
      "postcss.config.mjs": "postcss.config.mjs",
      "npm-shrinkwrap.json": "npm-shrinkwrap.json",
      "cdk.context.json": "cdk.context.json",
      "-rf": "_rf",
      "--x": "__x",
      ".envrc": "_envrc",
      "..": "__",
      "../up": "___up",
      "a\\b\n": "a_b_",
      CON: "_CON",
      "aux.txt": "_aux.txt",
      "Lpt9 .a.pdf": "_Lpt9 .a.pdf",
      "console.log": "console.log",
      'a<b>:"|?*.pdf': "a_b______.pdf",
      "loa.pdf. .": "loa.pdf___",
      "LOA \u202efdp.exe": "LOA _fdp.exe",
      "$(touch x).pdf": "$(touch x).pdf",
      "Vollmacht für Łódź 委任状 👩‍👩‍👧.pdf": "Vollmacht für Łódź 委任状 👩‍👩‍👧.pdf",
      [`${"a".repeat(238)}.pdf`]: `${"a".repeat(196)}.pdf`,
      [`${"a".repeat(239)}.pdf`]: `${"a".repeat(196)}.pdf`,
      [`x${long}.pdf`]: `x${"é".repeat(97)}.pdf`,
      [`${"a".repeat(199)}.${"b".repeat(50)}`]: `${"a".repeat(199)}_`,
      ["👍".repeat(63)]: "👍".repeat(50),
    };
    const here = { cwd: folder };
    for (const [filename, name] of Object.entries(names)) {
      const update = keys.attachment(parent, attachment);
      await transact({ attachment: { update, set: { filename }, when: { exists: true } } });
      const path = `${attachment}-${name}`;
      const command = ["attachment", "download", order.id, attachment];
      expect(await admin([...command, "--json"], here), filename).toMatchObject({
        code: 0,
        stdout: expect.stringContaining(JSON.stringify(path).slice(1, -1)),
      });
      expect(await readdir(folder), filename).toEqual([path]);
      expect(await readFile(join(folder, path), "utf8"), filename).toBe(content);
      expect(await admin(command, here), filename).toEqual(failure(1, " exists: choose another path with --to"));
      await rm(join(folder, path));
    }
  });

  it("finds the attachments of a request and of an order that a file gave the same id", async () => {
    const t = await tenants();
    const id = newId();
    const requests = { one: { id, order: "one", type: "PORT_IN" } };
    await apply({ orders: { one: { id, account: t.account("acme") } }, requests }, operator());
    for (const type of ["request", "order"]) {
      const attachment = await upload(`/api/v1/${type}s/${id}/attachments`, t.key("acme"));
      expect(await adminJson(["attachment", "show", id, attachment.id])).toMatchObject({ id: attachment.id });
    }
    expect(await adminJson(["attachment", "list", id])).toHaveLength(2);
  });

  it("writes no file if the event cannot be recorded", async () => {
    const { download } = await attached();
    const isWrite = ({ operation }: TableCall) => operation === "TransactWriteItems";
    beforeTableCall(isWrite, () => Promise.reject(new Error("The table is full.")));
    expect(await download("--to", folder)).toEqual(failure(1, "The table is full."));
    expect(await readdir(folder)).toEqual([]);
  });

  it("leaves nothing behind if the stored file is another one or gone", async () => {
    const { order, attachment, parent, download } = await attached();
    const key = fileKey(parent, attachment);
    await putFile(key, storedFile(Buffer.from("%PDF-1.7 forged")));
    const isOther = `The attachment ${attachment}: its stored file is not the one uploaded.`;
    expect(await download("--to", folder)).toEqual(failure(1, isOther));
    await removeFile(key);
    const isGone = `The attachment ${attachment}: its file is missing from storage.`;
    expect(await download("--to", folder)).toEqual(failure(1, isGone));
    // The other file was opened. This one could not be.
    expect(await downloads(parent)).toHaveLength(1);
    const [request = ""] = order.requests;
    const none = `There is no attachment ${attachment} in ${request}`;
    expect(await admin(["attachment", "download", request, attachment])).toEqual(failure(1, none));
    expect(await readdir(folder)).toEqual([]);
  });
});
