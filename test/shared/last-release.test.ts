import { execFileSync } from "node:child_process";
import { readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import * as z from "zod/mini";
import { scan } from "../../shared/table/read.ts";
import { newFolder } from "../support/fixtures/new-folder.ts";
import { newOrder } from "../support/fixtures/orders.ts";
import { newSwitch } from "../support/fixtures/switches.ts";
import { addMessagingNumbers } from "../support/fixtures/tenants.ts";
import { prepareUpload } from "../support/fixtures/uploads.ts";
import { startOnNewTable } from "../support/servers/own-table.ts";
import { checkOut } from "../support/servers/workflow.ts";

/**
 * What today's code stores is read with the code of the last release, as after a rollback. That is the latest tag `v*` before this
 * commit. Without one, nothing was released, and it is read with today's code.
 */
const root = join(import.meta.dirname, "../..");
const git = (...args: readonly string[]) =>
  execFileSync("git", ["-C", root, ...args], { stdio: ["ignore", "pipe", "ignore"], maxBuffer: 2 ** 28 });

const lastTag = (): string | undefined => {
  try {
    return String(git("describe", "--tags", "--match", "v*", "--abbrev=0", "HEAD^")).trim();
  } catch {
    return undefined;
  }
};

/** A folder with the code at a tag, and with the packages of today. */
const checkoutOf = (tag: string): string => {
  const folder = newFolder();
  execFileSync("tar", ["-x", "-C", folder], {
    input: git("archive", tag, "shared", "infra", "functions", "package.json"),
  });
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  return folder;
};

const tag = lastTag();
const released = tag === undefined ? root : checkoutOf(tag);

describe(`the code of ${tag ?? "today, as there is no release yet,"}`, () => {
  beforeAll(startOnNewTable);

  it("reads every item that today's code stores", async () => {
    const order = await newOrder(addMessagingNumbers, "PORT_IN");
    await order.attach(0);
    await order.remove(0, await order.attach(0));
    await prepareUpload(order.paths.order, order.key, Buffer.from("%PDF"));
    await checkOut(order.id);
    await order.attach("order");
    await newSwitch(order.key, { name: "Inbound" });
    const { readableChecks } = await import(join(released, "infra/admin/check/readable-items.ts"));
    const items = await Array.fromAsync(scan());
    expect(items.length).toBeGreaterThan(25);
    const checks = items.flatMap((item) => [...readableChecks(item)]);
    expect((await Promise.all(checks.map((check) => check()))).flat()).toEqual([]);
  });

  it("reads the states and the inputs of the checkout's steps", async () => {
    const { State, StepInput } = await import(join(released, "shared/checkout/checkout-schema.ts"));
    const file = readFileSync(join(import.meta.dirname, "checkout/states-of-1.0.json"), "utf8");
    const Exchange = z.object({ step: z.string(), result: z.looseObject({}) });
    // The state that `fail` returns ends the execution.
    for (const { step, result } of z.parse(z.array(Exchange), JSON.parse(file)).filter(({ step }) => step !== "fail")) {
      const input = { run: "run", started_at: new Date().toISOString(), state: result };
      expect(z.safeParse(StepInput, input).error, step).toBeUndefined();
      expect(z.safeParse(State, result).error, step).toBeUndefined();
    }
  });
});
