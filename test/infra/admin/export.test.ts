import { createHash } from "node:crypto";
import { existsSync, globSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { mkdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { lock } from "../../../infra/local/data.ts";
import { fileKey } from "../../../shared/attachments/file-keys.ts";
import { putFile, removeFile } from "../../../shared/attachments/files.ts";
import { interceptCalls } from "../../support/fault-proxy/intercept.ts";
import { customerTree, resellers } from "../../support/fixtures/account-tree.ts";
import { newFolder } from "../../support/fixtures/new-folder.ts";
import { storedFile } from "../../support/fixtures/upload-content.ts";
import { allowOnly } from "../../support/models/iam.ts";
import { failure } from "../../support/processes/failure.ts";
import { killedAfter } from "../../support/processes/killed-admin.ts";
import { admin, adminJson } from "../../support/requests/admin.ts";
import { call } from "../../support/requests/client.ts";
import { startOnNewTable } from "../../support/servers/own-table.ts";
import { byExtent, exhaustive } from "../../support/setup/extent.ts";

let tree: Awaited<ReturnType<typeof customerTree>>;
let folder: string;
beforeEach(async () => {
  await startOnNewTable();
  tree = await customerTree(await resellers(), byExtent({ sample: 2, most: 3, all: 7 }));
  folder = join(newFolder(), "export");
});

const exported = (to = folder, ...more: string[]) =>
  admin(["account", "export", tree.top.account, "--to", to, ...more]);

/** The contents of all files of a folder, by their paths. */
const contentsOf = (of: string) =>
  Object.fromEntries(
    globSync("**/*", { cwd: of, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => {
        const path = join(entry.parentPath, entry.name);
        return [path.slice(of.length + 1), readFileSync(path, "latin1")] as const;
      })
      .sort(([one], [other]) => (one < other ? -1 : 1)),
  );

const linesOf = (kind: string, of = folder) =>
  readFileSync(join(of, `${kind}.jsonl`), "utf8")
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line));

/** Runs an export that is killed once it has begun, at its first call of this operation. */
const killedAt = async (killing: string) => {
  const stop = interceptCalls(async ({ operation }, pass) => {
    if (operation === killing && existsSync(join(folder, "export.json"))) throw new Error("killed");
    return pass();
  });
  const { stderr } = await exported();
  stop();
  expect(stderr).toContain("killed");
};

const history = async () => (await adminJson(["history", "account", tree.top.account])).events;

describe("account export", () => {
  it("writes every record as a line, by kind, and every file under ids, verified", async () => {
    const { account: _, name: _name, ...numbers } = await adminJson(["account", "erase", tree.top.account]);
    const allowAll = allowOnly("OperatorPolicy");
    expect(await adminJson(["account", "export", tree.top.account.toLowerCase(), "--to", folder])).toEqual({
      account: tree.top.account,
      folder,
      ...numbers,
    });
    allowAll();
    for (const [kind, count] of Object.entries(numbers)) expect([kind, linesOf(kind).length]).toEqual([kind, count]);
    const attachments = linesOf("attachments");
    const path = ({ parent, id }: { parent: { id: string }; id: string }) => join("files", parent.id, id);
    for (const one of attachments) {
      const content = readFileSync(join(folder, path(one)));
      expect(createHash("sha256").update(content).digest("hex")).toBe(one.sha256);
      expect(readFileSync(join(folder, "SHA256SUMS"), "utf8")).toContain(`${one.sha256}  ${path(one)}\n`);
    }
    expect(attachments).toContainEqual(
      expect.objectContaining({
        name: "Zebra letter",
        notes: "Zebra notes\u2028\u2029\u{1f993}",
        parent: { type: "request", id: tree.top.request },
      }),
    );
    for (const name of ["pk", "sk", "write_id"]) expect(linesOf("receipts")[0]).not.toHaveProperty(name);
    const names = Object.keys(contentsOf(folder)).filter((name) => !/^files\/\w{26}\/\w{26}$/.test(name));
    expect(names).toEqual(["SHA256SUMS", "export.json", ...Object.keys(numbers).map((kind) => `${kind}.jsonl`)].sort());
    expect(linesOf("accounts").map(({ name }) => name)).toEqual(tree.all.map((_, level) => `Zebra ${level}`));
    if (process.platform === "win32") return;
    for (const name of [".", "files"]) expect((await stat(join(folder, name))).mode & 0o777).toBe(0o700);
    for (const name of Object.keys(contentsOf(folder)))
      expect([name, (await stat(join(folder, name))).mode & 0o777]).toEqual([name, 0o600]);
  });

  it.runIf(exhaustive)("has secrets and the hashes of keys only if they are asked for, and records that", async () => {
    await exported();
    expect(JSON.stringify(contentsOf(folder))).not.toMatch(/Zebra secret|apik_/);
    expect(linesOf("keys")[0]).not.toHaveProperty("sha256");
    const whole = `${folder}-secrets`;
    await exported(whole, "--with-secrets", "--on-behalf-of", "Ticket 1");
    expect(linesOf("switches", whole)[0]).toMatchObject({ sms_secret: "Zebra secret" });
    const hash = createHash("sha256").update(tree.top.key).digest("hex");
    expect(linesOf("keys", whole)).toContainEqual(expect.objectContaining({ sha256: hash }));
    const [first, second] = (await history()).filter(({ type }: { type: string }) => type === "account.exported");
    expect(first).toMatchObject({ actor: { type: "operator", id: "local" } });
    expect(first).not.toHaveProperty("reason");
    expect(second).toMatchObject({ actor: { on_behalf_of: "Ticket 1" }, reason: "With secrets." });
  });

  it.runIf(exhaustive)("is the same, byte for byte, if it was killed anywhere and repeated", async () => {
    const whole = `${folder}-whole`;
    await exported(whole);
    let [kills, continued, time] = [0, 0, 0];
    // Each look at the clock takes longer than it takes to save the progress again.
    const clock = vi.spyOn(performance, "now").mockImplementation(() => (time += 1_500));
    onTestFinished(() => clock.mockRestore());
    for (let calls = 0; ; calls += byExtent({ sample: 9, most: 7, all: 1 })) {
      let left = calls;
      const stop = interceptCalls(async (_, pass) => {
        if (left < 0) throw new Error("killed");
        left -= 1;
        return pass();
      });
      const { code } = await exported();
      stop();
      if (code === 0) break;
      kills += 1;
      const state = join(folder, "export.json");
      if (existsSync(state) && JSON.parse(readFileSync(state, "utf8")).progress !== null) continued += 1;
    }
    clock.mockRestore();
    expect(continued).toBeGreaterThan(1);
    expect(kills).toBeGreaterThan(3);
    expect(contentsOf(folder)).toEqual(contentsOf(whole));
    const { stderr, code } = await exported();
    expect([code, stderr]).toEqual([0, expect.stringContaining("This export was complete: for a newer one, choose")]);
  });

  it.runIf(exhaustive)("begins the records again if a file has lost its end", async () => {
    const whole = `${folder}-whole`;
    await exported(whole);
    await exported();
    const state = {
      ...JSON.parse(readFileSync(join(folder, "export.json"), "utf8")),
      complete: false,
      records: null,
    };
    const progress = { after: `ACCOUNT#${tree.top.account}`, counts: { events: 1 }, sizes: { "events.jsonl": 1 } };
    writeFileSync(join(folder, "export.json"), JSON.stringify({ ...state, progress }));
    expect((await exported()).code).toBe(0);
    expect(contentsOf(folder)).toEqual(contentsOf(whole));
  });

  it.runIf(exhaustive)("ends the same after a kill -9 at any moment", async () => {
    const whole = `${folder}-whole`;
    await exported(whole);
    let kills = 0;
    for (let moment = 0; moment < byExtent({ sample: 3, most: 7, all: 20 }); moment += 1) {
      const to = `${folder}-${moment}`;
      const args = ["account", "export", tree.top.account, "--to", to];
      if (await killedAfter(args, { ms: 5 * moment, since: () => existsSync(to) })) kills += 1;
      expect((await exported(to)).code).toBe(0);
      expect(contentsOf(to)).toEqual(contentsOf(whole));
    }
    expect(kills).toBeGreaterThan(0);
  });

  it.runIf(exhaustive && process.platform === "linux")(
    "says that the disk is full, and continues once it is not",
    async () => {
      await mkdir(folder);
      writeFileSync(join(folder, "export.json.new"), "");
      symlinkSync("/dev/full", join(folder, "SHA256SUMS.part"));
      expect(await exported()).toEqual(failure(1, "is not empty, and not an export: choose another folder with --to."));
      rmSync(join(folder, "SHA256SUMS.part"));
      // Its records are interrupted, and then its files.
      for (const operation of ["Query", "GetObject"]) {
        await killedAt(operation);
        const [first] = operation === "GetObject" ? linesOf("attachments") : [];
        const part = first
          ? join(folder, "files", first.parent.id, `${first.id}.part`)
          : join(folder, "SHA256SUMS.part");
        await mkdir(join(part, ".."), { recursive: true });
        rmSync(part, { force: true });
        symlinkSync("/dev/full", part);
        const full = failure(1, `The disk of ${folder} is full. Free space, and repeat the command: it continues.`);
        expect([operation, await exported()]).toEqual([operation, full]);
        rmSync(part, { force: true });
      }
      expect((await exported()).code).toBe(0);
      const whole = `${folder}-whole`;
      await exported(whole);
      expect(contentsOf(folder)).toEqual(contentsOf(whole));
    },
  );

  it.runIf(exhaustive)("refuses a folder that has anything else in it, or another export, or is in use", async () => {
    await mkdir(folder);
    writeFileSync(join(folder, "notes.txt"), "mine");
    const notEmpty = `${folder} is not empty, and not an export: choose another folder with --to.`;
    expect(await exported()).toEqual(failure(1, notEmpty));
    expect(contentsOf(folder)).toEqual({ "notes.txt": "mine" });
    expect(await exported(join(folder, "notes.txt"))).toEqual(failure(1, "notes.txt is not a folder: choose another"));
    rmSync(join(folder, "notes.txt"));
    await exported();
    const other = `has an export of the account ${tree.top.account} without secrets: choose another folder with --to.`;
    expect(await exported(folder, "--with-secrets")).toEqual(failure(1, other));
    const below = ["account", "export", tree.all[1]?.account ?? "", "--to", folder];
    expect(await admin(below)).toEqual(failure(1, other));
    const locked = lock(folder);
    expect(await exported()).toEqual(failure(1, "is in use by another process"));
    locked.close();
  });

  it.runIf(exhaustive)(
    "names damaged and missing files, exports the rest, and passes over what was deleted meanwhile",
    async () => {
      const listed = await adminJson(["attachment", "list", tree.top.request]);
      const [damaged, missing, deleted] = listed.map(({ id }: { id: string }) => id);
      const parent = { type: "request", id: tree.top.request } as const;
      await putFile(fileKey(parent, damaged), storedFile(new Uint8Array([9])));
      await removeFile(fileKey(parent, missing));
      const path = `${tree.top.attachments}/${deleted}`;
      let deletion: ReturnType<typeof call> | undefined;
      const stop = interceptCalls(async ({ operation }, pass) => {
        if (operation !== "GetObject") return pass();
        deletion ??= call("DELETE", path, { key: tree.top.key });
        await deletion;
        return pass();
      });
      const { code, stderr } = await exported();
      stop();
      expect(code).toBe(1);
      for (const line of [
        `The attachment ${damaged} of request ${parent.id}: its stored file is not the one uploaded.`,
        `The attachment ${missing} of request ${parent.id}: its file is missing from storage.`,
        "1 of the attachments were deleted during the export, with their files.",
        "Everything else is exported. Repeat the command once these files are restored.",
      ])
        expect(stderr).toContain(line);
      expect(globSync("files/*/*", { cwd: folder }).length).toBe(linesOf("attachments").length - 3);
    },
  );

  it.runIf(exhaustive)(
    "of an account below has the requests that it owns in the order of the account above",
    async () => {
      const second = tree.all[1];
      await adminJson(["account", "export", second?.account ?? "", "--to", folder]);
      const orders = linesOf("requests").map(({ order }) => order);
      expect(orders).toContain(tree.top.order);
      expect(linesOf("orders").map(({ id }) => id)).not.toContain(tree.top.order);
    },
  );
});
