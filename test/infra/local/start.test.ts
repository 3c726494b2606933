import { execFile } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdirSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import * as z from "zod/mini";
import { openData } from "../../../infra/local/data.ts";
import { eicar } from "../../../infra/local/files.ts";
import { form, pdf } from "../../support/fixtures/attachments.ts";
import { newFolder } from "../../support/fixtures/new-folder.ts";
import { admin } from "../../support/processes/admin-cli.ts";
import { type LocalService, localServices } from "../../support/processes/local-service.ts";
import { exhaustive } from "../../support/setup/extent.ts";

let services: ReturnType<typeof localServices>;
beforeEach(() => {
  services = localServices();
});
afterEach(() => services.remove());

/** The dynoxide processes that a service has started. Without a service, all running ones. */
const dynoxides = async (service?: Pick<LocalService, "child">): Promise<number[]> => {
  const { stdout } = await promisify(execFile)("ps", ["-eo", "pid=,ppid=,args="]);
  return stdout
    .split("\n")
    .filter((line) => line.includes("dynoxide --host ") && !line.includes("defunct"))
    .map((line) => line.trim().split(/ +/).map(Number))
    .flatMap(([pid = 0, parent]) => (service === undefined || parent === service.child.pid ? [pid] : []));
};

/** Waits until none of these processes runs, even under another parent. */
const gone = (pids: readonly number[]) =>
  vi.waitUntil(async () => !(await dynoxides()).some((pid) => pids.includes(pid)), patiently);

const list = async ({ call, attachments }: LocalService) => (await call("GET", attachments)).status;

const patiently = { timeout: 20_000 };

/** Most tests start the service once or twice, so a sample has only some of them. */

it("npm start in a shell that is set up for AWS uses none of its credentials, nor do the CLI and the programs that patchbay env sets up", async () => {
  const file = join(newFolder(), "config");
  writeFileSync(file, "[default]\nuse_fips_endpoint = true\nuse_dualstack_endpoint = true\nregion = eu-central-1\n");
  const ofShell = {
    AWS_PROFILE: "absent",
    AWS_SESSION_TOKEN: "token",
    AWS_REGION: "eu-central-1",
    AWS_CONFIG_FILE: file,
    AWS_USE_FIPS_ENDPOINT: "true",
    AWS_USE_DUALSTACK_ENDPOINT: "true",
    AWS_IGNORE_CONFIGURED_ENDPOINT_URLS: "true",
  };
  const service = await services.start([], ofShell);
  expect(await list(service)).toBe(200);
  expect((await service.call("POST", service.attachments, form())).status).toBe(201);
  const env = { ...ofShell, PATCHBAY_STATE: services.state, TABLE_NAME: "", PORT: "" };
  expect(await admin(["account", "list", "--json"], { env })).toMatchObject({ code: 0 });
  const checkout = await admin(["order", "checkout", service.demo.ORDER ?? "", "--wait"], { env });
  expect(checkout).toMatchObject({ code: 0, stdout: expect.stringContaining("SUCCEEDED") });
  const { stdout } = await admin(["env"], { env });
  expect(stdout).toContain("export AWS_REGION='us-east-1'\nexport AWS_ACCESS_KEY_ID='local'\n");
  expect(stdout).toMatch(/unset AWS_PROFILE\nunset AWS_SESSION_TOKEN\n$/);
});

it("npm start says which variable names another folder if its addresses cannot be stored", async () => {
  const file = join(newFolder(), "file");
  writeFileSync(file, "");
  const { ready, output } = services.spawnService([], { PATCHBAY_STATE: join(file, "below") });
  const refused = /^Addresses cannot be stored in \S+below \(EN.+\): set PATCHBAY_STATE to another folder\.\n$/;
  expect([await ready, output.stderr]).toEqual([false, expect.stringMatching(refused)]);
});

it("npm start names the S3 of AWS_ENDPOINT_URL_S3 that does not respond, and why", async () => {
  const { ready, output } = services.spawnService([], { AWS_ENDPOINT_URL_S3: "http://127.0.0.1:9" });
  const reason =
    /^There is no working S3 at http:..127\.0\.0\.1:9 \(connect ECONNREFUSED .+\): start it, or correct AWS_/;
  expect([await ready, output.stderr]).toEqual([false, expect.stringMatching(reason)]);
});

it.runIf(exhaustive)(
  "./patchbay start --max-wait sets the longest wait of a checkout for the carrier, which is 2 seconds without it",
  async () => {
    const { ready, output } = services.spawnService(["--max-wait", "901"]);
    expect([await ready, output.stderr]).toEqual([
      false,
      "--max-wait must be a whole number of seconds from 1 to 900, not 901.\n",
    ]);
    const firstWait = async (args: readonly string[]) => {
      const service = await services.start(args);
      const { CARRIER_URL } = service.environment;
      const fault = { method: "PUT", path: "attachments", times: 1_000, action: "status", status: 503 };
      await fetch(`${CARRIER_URL}/faults`, { method: "POST", body: JSON.stringify(fault) });
      await service.call("POST", service.attachments, form());
      await service.admin("order", "checkout", service.demo.ORDER ?? "");
      const wait = await vi.waitUntil(async () => {
        const { stdout } = await service.admin("order", "show", service.demo.ORDER ?? "", "--json");
        const { checkout, requests } = JSON.parse(stdout);
        const [receipt] = requests.flatMap((request: { attachments: { receipt: unknown }[] }) =>
          request.attachments.flatMap((each) => each.receipt ?? []),
        );
        // The number is not positive while the next attempt is in progress.
        return Math.max(0, Date.parse(checkout?.next_try_at) - Date.parse(receipt?.at)) || undefined;
      }, patiently);
      await service.stop();
      return wait;
    };
    // The first takes at most 2 seconds, the second at least half of 5.
    expect(await firstWait([])).toBeLessThan(await firstWait(["--max-wait", "900"]));
  },
);

describe("the folder of ./patchbay start --data", () => {
  it("is locked while it is open, and not by the process id of an earlier run, even that of a running process", () => {
    const { close } = openData(services.data);
    const inUse = `The data in ${services.data} is in use by process ${process.pid}: stop`;
    expect(() => openData(services.data)).toThrow(inUse);
    close();
    openData(services.data).close();
  });

  it("has a demo customer that is reported if it is damaged", () => {
    const data = openData(services.data);
    expect(data.readDemo()).toBeUndefined();
    writeFileSync(join(services.data, "demo.json"), "x");
    expect(data.readDemo).toThrow(/demo\.json is damaged: delete it, and the next start creates a new demo customer/);
    data.close();
  });

  it.runIf(exhaustive)(
    "is used by exactly one of several services that start at once, whose DynamoDB ends even if only it is killed",
    async () => {
      const started = Array.from({ length: 3 }, () => services.spawnService());
      const ready = await Promise.all(started.map((each) => each.ready));
      expect(ready.filter(Boolean)).toEqual([true]);
      const winner = started.find((_, index) => ready[index]);
      const inUse = /^The data in \S+ is in use by (process \d+|another process): stop it/;
      for (const each of started) expect(each.output.stderr).toMatch(each === winner ? /^$/ : inUse);
      const pids = await dynoxides(winner);
      expect(pids).toHaveLength(1);
      winner?.child.kill("SIGKILL");
      await gone(pids);
    },
  );

  it.each([
    ["another format", '{"format": 7}', "format 7"],
    ["no format", undefined, "no format"],
    ["a damaged format", "{", "no format"],
  ])("is refused with data in %s, and says what to do", (_, content, found) => {
    openData(services.data).close();
    const file = join(services.data, "format.json");
    if (content === undefined) rmSync(file);
    else writeFileSync(file, content);
    mkdirSync(join(services.data, "files"));
    const before = readdirSync(services.data);
    expect(() => openData(services.data)).toThrow(
      `The data in ${services.data} have ${found}, and this version reads format 1. Nothing was changed: start the version of Patchbay that stored them, or choose another folder with --data.`,
    );
    expect(readdirSync(services.data)).toEqual(before);
    writeFileSync(file, '{"format": 1}');
    openData(services.data).close();
  });

  it("gets the format if it has other files only, and keeps it", () => {
    mkdirSync(services.data);
    writeFileSync(join(services.data, ".DS_Store"), "");
    openData(services.data).close();
    mkdirSync(join(services.data, "files"));
    openData(services.data).close();
  });

  it.skipIf(process.platform === "win32")("keeps its permissions if it has other content", () => {
    mkdirSync(services.data);
    const modes = ["", "other"].map((other) => {
      writeFileSync(join(services.data, other || "table.db-wal"), "");
      writeFileSync(join(services.data, "table.db"), "");
      writeFileSync(join(services.data, "format.json"), '{"format":1}');
      chmodSync(services.data, 0o755);
      openData(services.data).close();
      return statSync(services.data).mode & 0o777;
    });
    expect(modes).toEqual([0o700, 0o755]);
  });

  it.runIf(process.platform === "linux").each([
    ["its disk is full", "/dev/full", "free space on its disk, and start again"],
    ["it cannot be written to", "/proc/version", "let this user write to it, and start again"],
  ])("keeps its data, and says what to do, if %s", (_, target, advice) => {
    openData(services.data).close();
    writeFileSync(join(services.data, "table.db"), "");
    rmSync(join(services.data, "pid"));
    symlinkSync(target, join(services.data, "pid"));
    expect(() => openData(services.data)).toThrow(`: ${advice}.`);
    rmSync(join(services.data, "pid"));
    openData(services.data).close();
  });

  it("must be one that can be created and written to", async () => {
    const file = join(services.data, "file");
    mkdirSync(services.data);
    writeFileSync(file, "");
    const refused = /^Data cannot be stored in \S+ \(.+\): choose another folder with --data\.\n?$/;
    const { ready, output } = services.spawnService(["--data", file]);
    expect([await ready, output.stderr]).toEqual([false, expect.stringMatching(refused)]);
    expect(() => openData(join(file, "below"))).toThrow(refused);
  });

  it.runIf(exhaustive)(
    "and its content can be read only by their owner, also if it comes from a backup that anybody can read",
    async () => {
      const service = await services.start();
      await fetch(`${service.environment.CARRIER_URL}/carts/one/checkout`, { method: "POST" });
      const inside = (folder: string) => [
        folder,
        ...readdirSync(folder, { recursive: true, encoding: "utf8" }).map((name) => join(folder, name)),
      ];
      const readable = (paths: readonly string[]) => paths.filter((path) => (statSync(path).mode & 0o077) !== 0);
      expect(readdirSync(services.data)).toEqual(expect.arrayContaining(["carts", "demo.json", "files", "table.db"]));
      expect(readable([...inside(services.data), ...inside(services.state)])).toEqual([]);
      await service.stop();
      // Simulates a restored backup that everyone can read.
      chmodSync(services.data, 0o755);
      await services.start();
      expect(readable([services.data])).toEqual([]);
    },
  );

  it.runIf(exhaustive)("makes the service say what to do if its table is damaged", async () => {
    await (await services.start()).stop();
    // Otherwise SQLite would repair the file from its log.
    rmSync(join(services.data, "table.db-wal"), { force: true });
    writeFileSync(join(services.data, "table.db"), "x".repeat(5_000));
    const { ready, output } = services.spawnService();
    const message =
      /^The embedded DynamoDB does not start: Database file is encrypted or not a valid SQLite database[^\n]+\nIf \S+table\.db is damaged, restore the folder from a backup, or choose another one with --data\.\n$/;
    expect([await ready, output.stderr]).toEqual([false, expect.stringMatching(message)]);
  });
});

it.runIf(exhaustive)(
  "the embedded DynamoDB is restarted if it ends, and stops its service if it keeps ending",
  async () => {
    const service = await services.start();
    const { child, output } = service;
    const closed = once(child, "close");
    for (let [times, last] = [1, 0]; times <= 4; times += 1) {
      await vi.waitUntil(async () => (await dynoxides(service)).some((pid) => pid !== last), patiently);
      await vi.waitUntil(async () => (await list(service)) === 200, patiently);
      [last = 0] = await dynoxides(service);
      process.kill(last, "SIGKILL");
    }
    await closed;
    const again = "The embedded DynamoDB has exited (by SIGKILL) and is restarted.\n";
    expect(output.stderr).toBe(`${again.repeat(3)}The embedded DynamoDB keeps exiting (by SIGKILL).\n`);
    expect(child.exitCode).toBe(1);
  },
);

it.runIf(exhaustive)("./patchbay start goes on when the reader of its output has ended, such as grep -m1", async () => {
  const { child, call, attachments, terminate } = await services.start([]);
  child.stdout?.destroy();
  child.stderr?.destroy();
  for (let request = 1; request <= 20; request += 1) expect((await call("GET", attachments)).status).toBe(200);
  expect([child.exitCode, await terminate()]).toEqual([null, 0]);
});

describe("npm start", () => {
  it("does not start with an invalid LOG_LEVEL, with which every request would fail", async () => {
    const { ready, output } = services.spawnService([], { LOG_LEVEL: "debug" });
    const problem = "must be one of DEBUG, INFO, WARN, ERROR, SILENT, not debug.";
    expect([await ready, output.stderr]).toEqual([false, `The environment variable LOG_LEVEL ${problem}\n`]);
  });

  const signals = ["SIGTERM", "SIGKILL"] as const;
  it.runIf(exhaustive).each(signals)("leaves nothing behind when npm alone is sent %s", async (signal) => {
    const { child, ready, output } = services.spawnService([], {}, ["npm", "start", "--"]);
    expect(await ready, output.stderr).toBe(true);
    const url = /^ready (\S+)$/m.exec(output.stdout)?.[1] ?? "";
    expect((await fetch(url)).status).toBe(404);
    child.kill(signal);
    await vi.waitUntil(() => readdirSync(services.state).length === 0, patiently);
    await expect(fetch(url)).rejects.toThrow("fetch failed");
  });
});

it.runIf(exhaustive)(
  "./patchbay start --malware-scan refuses the EICAR test file, and forwards the clean one that replaces it once that is scanned",
  async () => {
    const service = await services.start(["--malware-scan"]);
    const { attachments: path, call } = service;
    const attach = async (file: File) => {
      const response = await call("POST", path, form({}, file));
      return z.parse(z.object({ data: z.object({ id: z.string() }) }), await response.json()).data.id;
    };
    const checkOut = async () => (await service.admin("order", "checkout", service.demo.ORDER ?? "", "--wait")).stdout;
    const infected = await attach(pdf("loa.pdf", eicar));
    expect(await checkOut()).toMatch(new RegExp(`FAILED\\s+reason .*${infected}.* malware scan.*THREATS_FOUND`));
    expect((await call("DELETE", `${path}/${infected}`)).status).toBe(200);
    await attach(pdf());
    expect(await checkOut()).toContain("SUCCEEDED");
    expect(await service.cart()).toMatchObject({ attachments: [{ bytes: 15, received: 1 }] });
  },
);

it.runIf(exhaustive)(
  "./patchbay start --carrier-function checks out through the adapter in docs/examples, prints its calls and errors, and stops on SIGTERM",
  async () => {
    const file = join(services.state, "..", "adapter.mjs");
    const example = new URL("../../../docs/examples/carrier-adapter.mjs", import.meta.url);
    const failing = `import { handler as example } from "${example}";
    let calls = 0;
    export const handler = async (event) => {
      calls += 1;
      if (calls === 1) throw new TypeError("no such carrier", { cause: new Error("the cause") });
      return calls === 2 ? {} : example(event);
    };`;
    writeFileSync(file, failing);
    const service = await services.start(["--carrier-function", file]);
    const { ORDER = "", REQUEST } = service.demo;
    expect((await service.call("POST", service.attachments, form())).status).toBe(201);
    expect((await service.admin("order", "checkout", ORDER, "--wait")).code).toBe(0);
    const attachments = [{ request_id: REQUEST, bytes: 15, received: 1 }];
    expect(await service.cart()).toMatchObject({ checked_out: true, attachments });
    await vi.waitFor(() => {
      const calls = [...service.output.stdout.matchAll(/^adapter {2}(---|\d{3}) +([A-Z]+) +\/carts\/.+$/gm)];
      expect(calls.map(([, ...call]) => call.join(" "))).toEqual(["--- PUT", "--- PUT", "201 PUT", "200 POST"]);
      expect(service.output.stderr).toMatch(
        /TypeError: no such carrier\n +at handler \(.*adapter\.mjs:5:[\s\S]+\[cause\]: Error: the cause[\s\S]+The adapter returned no status\.\n/,
      );
    }, patiently);
    // Stops on SIGTERM while a request is half sent, and removes its state.
    expect(readdirSync(services.state)).toHaveLength(1);
    const socket = connect(Number(new URL(service.url).port), "127.0.0.1").on("error", () => {});
    await once(socket, "connect");
    socket.write("POST /api/v1/switches HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nhalf");
    expect([await service.terminate(), readdirSync(services.state)]).toEqual([0, []]);
  },
);
