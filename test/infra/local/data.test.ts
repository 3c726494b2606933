import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, expect, it } from "vitest";
import { form } from "../../support/fixtures/attachments.ts";

const root = join(import.meta.dirname, "../../..");
const folder = mkdtempSync(join(tmpdir(), "patchbay-data-"));
afterAll(() => rmSync(folder, { recursive: true }));

const env = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !/^(DYNAMODB_|S3_|TABLE_NAME|BUCKET_NAME|PORT$)/.test(name)),
);
const start = () =>
  spawn(process.execPath, ["infra/local/run.ts", "--port", "0", "--quiet", "--data", join(folder, "data")], {
    cwd: root,
    env: { ...env, PATCHBAY_STATE: join(folder, "state") },
  });

/** Starts, reads what is printed, does something with it, and stops. */
const during = async <T>(act: (url: string, key: string) => Promise<T>): Promise<T> => {
  const service = start();
  let printed = "";
  service.stdout.on("data", (chunk) => {
    printed += chunk;
  });
  while (!printed.includes("Stop: Ctrl-C")) await once(service.stdout, "data");
  const url = /^ {2}curl -s (\S+\/requests\/\S+)/m.exec(printed)?.[1] ?? "";
  const key = /export KEY=(\S+)/.exec(printed)?.[1] ?? "";
  try {
    return await act(url, key);
  } finally {
    service.kill("SIGINT");
    await once(service, "exit");
  }
};

const list = async (url: string, key: string) => {
  const response = await fetch(url, { headers: { authorization: `Bearer ${key}` } });
  return { status: response.status, body: await response.text() };
};

it("keeps data between runs, the demo's key included, for one process at a time", async () => {
  const first = await during(async (url, key) => {
    const second = start();
    const [refusal] = await Promise.all([text(second.stderr), once(second, "exit")]);
    expect(refusal).toMatch(/^The data in \S+ is in use by process \d+: stop it, or name another folder\.\n$/);
    const headers = { authorization: `Bearer ${key}` };
    expect((await fetch(url, { method: "POST", headers, body: form() })).status).toBe(201);
    return { url, key, listed: await list(url, key) };
  });
  expect(first.listed).toEqual({ status: 200, body: expect.stringContaining('"total":1}') });
  await during(async (url, key) => {
    expect([new URL(url).pathname, key]).toEqual([new URL(first.url).pathname, first.key]);
    expect(await list(url, key)).toEqual(first.listed);
  });
});
