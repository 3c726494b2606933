import { expect, it } from "vitest";
import { keys } from "../../../shared/table/keys.ts";
import { transact } from "../../../shared/table/write.ts";
import { rolesAndPolicies } from "../../support/models/deployed-production.ts";
import { allowOnly, refusalsOf } from "../../support/models/iam.ts";

/** Who may use the parts of the table that only some functions need, by the statements in docs/deployed.txt. */

const reads = ["GetItem", "BatchGetItem", "Query", "ConditionCheckItem"];
const writes = ["PutItem", "UpdateItem", "DeleteItem"];
const switchWriters = ["create", "create-under-account", "delete", "update"].map((name) => `switches-${name}-role`);
const switchReaders = ["list", "list-under-account", "show"].map((name) => `switches-${name}-role`);

const holdersOf = (actions: readonly string[], pk: string) =>
  rolesAndPolicies().filter((holder) => {
    const refusals = refusalsOf(holder);
    return actions.some((action) => refusals([{ action, pk }]).length === 0);
  });

it.each([
  ["write API keys", writes, keys.apiKey("1").pk, ["OperatorPolicy", "tenants-apply-role"]],
  ["write the ids and events of API keys", writes, keys.apiKeyId("1").pk, ["OperatorPolicy", "tenants-apply-role"]],
  ["write users", writes, keys.user("1").pk, ["OperatorPolicy", "tenants-apply-role"]],
  [
    "write the list of root accounts",
    writes,
    keys.childAccount(null, "1").pk,
    ["OperatorPolicy", "tenants-apply-role"],
  ],
  [
    "write accounts, and the lists and counts in their partitions",
    writes,
    keys.account("1").pk,
    ["OperatorPolicy", ...switchWriters, "tenants-apply-role"],
  ],
  ["read switches", reads, keys.switch("1").pk, ["OperatorPolicy", ...switchWriters, ...switchReaders]],
  ["write switches", writes, keys.switch("1").pk, ["OperatorPolicy", ...switchWriters]],
  ["write orders by the evidence policy, which is for people", writes, keys.order("1").pk, undefined],
])("only those who need to may %s", (_, actions, pk, holders) => {
  const found = holdersOf(actions, pk);
  if (holders) expect(found).toEqual([...holders].sort());
  else expect(found).not.toContain("EvidencePolicy");
});

it("a call that names a denied partition besides its own is refused", async () => {
  allowOnly("request-attachments-create-role");
  const of = { type: "request", id: "1" } as const;
  const writesOwn = { put: { ...keys.attachment(of, "2"), id: "2" } };
  expect(await transact({ own: writesOwn })).toBeUndefined();
  for (const key of [keys.apiKey("1"), keys.apiKeyId("1"), keys.user("1"), keys.account("1"), keys.switch("1")])
    await expect(transact({ own: writesOwn, foreign: { put: { ...key, id: "1" } } })).rejects.toThrow(
      "request-attachments-create-role is not authorized to perform dynamodb:PutItem",
    );
});
