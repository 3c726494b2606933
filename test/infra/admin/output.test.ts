import { execFile } from "node:child_process";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import stringWidth from "fast-string-width";
import { afterEach, describe, expect, it, vi } from "vitest";
import project from "../../../package.json" with { type: "json" };
import { keys } from "../../../shared/table/keys.ts";
import { transact } from "../../../shared/table/write.ts";
import type { Watch } from "../../support/fault-proxy/proxy.ts";
import { apply } from "../../support/fixtures/apply.ts";
import { newSwitch } from "../../support/fixtures/switches.ts";
import { tenants } from "../../support/fixtures/tenants.ts";
import { runScript } from "../../support/processes/shell.ts";
import { admin, adminJson } from "../../support/requests/admin.ts";
import { proxies } from "../../support/servers/own-table.ts";

/** Control characters that clear the screen, ring, start a C1 sequence, delete, reverse the text and break the line. */
const hostile = "a\u001b[2J\u0007\u009b31m\u007f\u202eb\u2028\u2066c";

const controls = /[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu;
const controlsIn = (output: string) => output.replaceAll("\n", "").match(controls) ?? [];

describe("stored text on a terminal", () => {
  it("has no control characters in tables, details and JSON", async () => {
    const t = await tenants();
    const { id } = await newSwitch(t.key("east"), { name: "Switch" });
    // No name that the API accepts has such characters.
    const rename = (name: string) =>
      transact({ item: { update: keys.switch(id), set: { name }, when: { exists: true } } });
    await rename(`Switch ${hostile}`);
    for (const args of [
      ["switch", "list", "--account", t.account("acme")],
      ["switch", "show", id],
      ["switch", "show", id, "--json"],
    ]) {
      const { code, stdout } = await admin(args);
      expect([code, controlsIn(stdout)], args.join(" ")).toEqual([0, []]);
      expect(stdout, args.join(" ")).toContain("a\\u001b[2J");
    }
    expect((await adminJson(["switch", "show", id])).name).toBe(`Switch ${hostile}`);
    await rename("Switch");
  });

  it("has no control characters in errors", async () => {
    for (const { args, input, expected = 1 } of [
      { args: ["account", "show", hostile], input: "" },
      { args: [hostile], input: "", expected: 2 },
      { args: ["apply", "-"], input: JSON.stringify({ users: { [hostile]: { account: hostile } } }) },
      { args: ["apply", "-"], input: `{"${hostile}` },
    ]) {
      const { code, stdout, stderr } = await admin(args, { input });
      expect([code, stdout, controlsIn(stderr)], args.join(" ")).toEqual([expected, "", []]);
    }
  });
});

afterEach(() => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
});

const entry = join(import.meta.dirname, "../../../infra/admin/admin.ts");

const widest = (output: string) => Math.max(...output.split("\n").map((line) => stringWidth(line)));

/** Returns the output of a command on a terminal of 70 columns, or undefined on systems with another `script` than Linux. */
const onTerminal = async (command: string, env: NodeJS.ProcessEnv) => {
  const script = `stty cols 70; '${process.execPath}' '${entry}' ${command}`;
  const options = { env: { ...process.env, TERM: "xterm-256color", ...env } };
  const terminal = await promisify(execFile)("script", ["-qec", script, "/dev/null"], options).catch(
    (error: Error) => error,
  );
  if (!(terminal instanceof Error)) return terminal.stdout.replaceAll("\r", "").replace(/^Target: .*$/m, "");
  expect(process.platform, terminal.message).not.toBe("linux");
};

it.runIf(process.platform === "linux")(
  "a command whose output cannot be written says so, and exits with 1",
  async () => {
    const { code, errors } = await runScript(`'${process.execPath}' '${entry}' schema > /dev/full`, process.env);
    const message = /^The output cannot be written \(ENOSPC.*\)\. What the command has changed stays changed\.\n$/;
    expect([code, errors]).toEqual([1, expect.stringMatching(message)]);
  },
);

describe("a table", () => {
  const names = async () => {
    const { accounts, orders } = await apply({
      accounts: {
        wide: { name: "日本電信電話の番号移行" },
        long: { name: "A name that is longer than any table has room for ".repeat(4), parent: "wide" },
      },
      orders: { o: { account: "wide" } },
    });
    return { wide: accounts.wide?.id ?? "", long: accounts.long?.id ?? "", order: orders.o?.id ?? "" };
  };

  it("fits the terminal's width with whole ids, names beside them, and aligned columns of wide characters", async () => {
    const { wide, long, order } = await names();
    for (const columns of [40, 80, 120]) {
      vi.stubEnv("COLUMNS", String(columns));
      const { stdout } = await admin(["account", "list", "--account", wide]);
      expect(widest(stdout), `${columns} columns`).toBeLessThanOrEqual(columns);
      expect(stdout, `${columns} columns`).toContain(wide);
    }
    vi.stubEnv("COLUMNS", "80");
    for (const args of [
      ["order", "list", "--account", wide],
      ["find", order],
    ])
      expect((await admin(args)).stdout, args.join(" ")).toMatch(
        new RegExp(`^(?!.*(…| -$)).* ${order}\n.* ${wide}\n`, "ms"),
      );
    vi.unstubAllEnvs();
    const { stdout: accounts } = await admin(["account", "list", "--account", wide]);
    expect(accounts).toMatch(new RegExp(`\n${long}  A name .*日本電信電話の番号移行.*${wide}\n`));
    const { stdout } = await admin(["order", "list", "--account", wide]);
    const [heading = "", row = ""] = stdout.split("\n");
    const columnOf = (line: string, text: string) => stringWidth(line.slice(0, line.indexOf(text)));
    expect(row).toMatch(new RegExp(`^${order}  日本電信電話の番号移行  ${wide}  CART`));
    expect(columnOf(row, "CART")).toBe(columnOf(heading, "state"));
  });

  it("fits a real terminal", async () => {
    const { long } = await names();
    const output = await onTerminal(`account show ${long}`, {});
    if (output === undefined) return;
    expect(output).toContain(long);
    expect(widest(output)).toBeLessThanOrEqual(70);
  });

  it("has at most 160 columns in a pipe", async () => {
    const { long } = await names();
    const command = `'${process.execPath}' '${entry}' account list --account ${long} | cat`;
    const { output } = await runScript(command, { ...process.env, COLUMNS: "" });
    expect(output).toContain(long);
    expect(widest(output)).toBeLessThanOrEqual(160);
  });

  it("has colours for states on a terminal only, and not if NO_COLOR is set", async () => {
    const { orders } = await apply({
      accounts: { a: { name: "A" } },
      orders: { o: { account: "a", state: "CHECKED_OUT" } },
    });
    const command = `order show ${orders.o?.id ?? ""}`;
    expect((await admin(command.split(" "))).stdout).toMatch(/^state +CHECKED_OUT$/m);
    const output = await onTerminal(command, { NO_COLOR: "", FORCE_COLOR: "" });
    if (output === undefined) return;
    expect(output).toContain("\u001b[32mCHECKED_OUT\u001b[39m");
    expect(await onTerminal(command, { NO_COLOR: "1" })).toMatch(/^state +CHECKED_OUT$/m);
  });
});

describe("a command that takes more than three seconds", () => {
  it.each([
    [["key", "list"], /^Reading the table …, \d+ s$/m],
    [["check"], /^Checking … [\d,]+ items and [\d,]+ files read, \d+ s$/m],
    [["sweep", "--all", "--dry-run"], /^Sweeping … \d+ days and [\d,]+ files, \d+ of them orphans, \d+ s$/m],
  ])("prints its progress: %s", async (args, progress) => {
    // The first read outlasts the clock's interval, and the clock is put three seconds forward.
    const now = performance.now.bind(performance);
    let isFirst = true;
    const beSlow: Watch = async ({ operation }, moment) => {
      if (!isFirst || moment !== "before" || !/^(Scan|Query|ListObjectsV2)$/.test(operation)) return;
      isFirst = false;
      vi.spyOn(performance, "now").mockImplementation(() => now() + 3_000);
      await sleep(400);
    };
    for (const proxy of Object.values(proxies)) proxy.watch(beSlow);
    const { code, stderr } = await admin(args);
    for (const proxy of Object.values(proxies)) proxy.watch(async () => {});
    expect([code, stderr]).toEqual([0, expect.stringMatching(progress)]);
  });
});

describe("the CLI itself", () => {
  it("prints its version", async () => {
    expect((await admin(["--version"])).stdout).toBe(`${project.version}\n`);
  });

  it("ends quietly if the reader of its output does", async () => {
    // `true` reads nothing. Because of `sleep`, it ends before the command writes.
    const command = `{ sleep 0.1; '${process.execPath}' '${entry}' schema; echo "ended with $?" >&2; } | true`;
    expect((await runScript(command, process.env)).errors).toBe("ended with 0\n");
  });
});
