import { setTimeout as sleep } from "node:timers/promises";
import { beforeEach, describe, expect, it } from "vitest";
import { beginRun } from "../../shared/checkout/checkout-run.ts";
import { customerTree, everything, resellers } from "../support/fixtures/account-tree.ts";
import { apply } from "../support/fixtures/apply.ts";
import { form } from "../support/fixtures/attachments.ts";
import { storeRun } from "../support/fixtures/runs.ts";
import { post } from "../support/fixtures/switches.ts";
import { checkInvariants } from "../support/models/invariants.ts";
import { admin } from "../support/processes/admin-cli.ts";
import { killedAfter } from "../support/processes/killed-admin.ts";
import { call } from "../support/requests/client.ts";
import { startOnNewTable } from "../support/servers/own-table.ts";
import { byExtent, exhaustive } from "../support/setup/extent.ts";

/** Erases accounts in processes of their own, which are killed, or run at the same time. */

let reseller: Awaited<ReturnType<typeof resellers>>;
let before: string[];
beforeEach(async () => {
  await startOnNewTable();
  reseller = await resellers();
  before = await everything();
});

const afterwards = async () => (await everything()).filter((one) => !before.includes(one));
const erasure = (account: string) => expect.stringMatching(`${account}.*"type":"account.erased"`);
const command = (account: string, name: string, wait: number) => [
  "account",
  "erase",
  account,
  "--yes",
  name,
  "--wait",
  String(wait),
];

describe.runIf(exhaustive)("account erase, in processes of its own", () => {
  it("ends the same after a kill -9 at any moment", async () => {
    const { top } = await customerTree(reseller, byExtent({ sample: 1, most: 3, all: 7 }));
    let kills = 0;
    for (let moment = 0; moment < 20; moment += 1)
      if (await killedAfter(command(top.account, "Zebra 0", 0), { ms: 600 + 50 * moment })) kills += 1;
    expect(kills).toBeGreaterThan(0);
    const { code, stderr } = await admin(command(top.account, "Zebra 0", 0));
    if (code !== 0) expect(stderr).toContain("was erased at");
    expect(await afterwards()).toEqual([erasure(top.account)]);
    expect(await checkInvariants(new Date())).toEqual([]);
  });

  it.each([
    ["above", 300],
    ["below", 300],
  ])(
    "of an account and of one below it leaves nothing of either, whatever is written meanwhile: first %s, %d ms before",
    async (first, ms) => {
      const { top, all } = await customerTree(reseller, 3);
      const [, middle = top, last = top] = all;
      let isOver = false;
      const again = async (act: (nth: number) => Promise<unknown>) => {
        for (let nth = 0; !isOver; nth += 1) {
          await act(nth).catch(() => {});
          await sleep(50);
        }
      };
      const writers = [
        ...all.map(({ attachments, key }) =>
          again((nth) => call("POST", attachments, { key: nth % 2 ? key : reseller.key, body: form() })),
        ),
        ...all.map(({ account }) =>
          again((nth) => post(reseller.key, { name: `Zebra ${nth}` }, `/api/v1/accounts/${account}/switches`)),
        ),
        again(() =>
          apply({
            users: { a: { account: last.account, permissions: [] } },
            orders: { o: { account: middle.account } },
          }),
        ),
        again(async (nth) => {
          const { next } = await beginRun({ order_id: last.order, run: `run-${nth}` }, new Date());
          if (next !== "FAIL") await storeRun(last.order, { status: "FAILED", reason: "Zebra" });
        }),
      ];
      const commands = [command(top.account, "Zebra 0", 3), command(last.account, "Zebra 2", 3)];
      /** A command is repeated while a checkout began before its mark. */
      const erase = async (one: readonly string[]): Promise<string> => {
        const { code, stderr } = await admin(one);
        return stderr.includes("are being checked out") ? erase(one) : `${code} ${stderr}`;
      };
      const [one, other] = first === "above" ? commands : commands.toReversed();
      const erased = [erase(one ?? [])];
      await sleep(ms);
      erased.push(erase(other ?? []));
      const outcomes = await Promise.all(erased);
      isOver = true;
      await Promise.all(writers);
      for (const outcome of outcomes) expect(outcome).toMatch(/^0 |was erased at|is no account|has completed it/);
      expect(await afterwards()).toEqual([erasure(top.account)]);
      expect(await checkInvariants(new Date())).toEqual([]);
    },
  );
});
