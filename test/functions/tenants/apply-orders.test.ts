import { afterAll, beforeAll, describe, expect, it } from "vitest";
import * as z from "zod/mini";
import { handler as applyAll } from "../../../functions/tenants/apply.ts";
import { handler } from "../../../functions/tenants/apply-orders.ts";
import { newId } from "../../../shared/schema/fields.ts";
import { keys } from "../../../shared/table/keys.ts";
import { get } from "../../../shared/table/read.ts";
import { interceptTableCalls, type TableCall } from "../../support/fault-proxy/table-proxy.ts";
import { synthesize } from "../../support/models/template.ts";
import { invalidBody } from "../../support/requests/client.ts";

const Condition = z.object({
  "ForAllValues:StringLike": z.object({ "dynamodb:LeadingKeys": z.array(z.string()) }),
  "ForAllValues:StringEquals": z.optional(z.object({ "dynamodb:Attributes": z.array(z.string()) })),
});
const OneOrMore = z.union([z.string(), z.array(z.string())]);
const Statement = z.object({ Action: OneOrMore, Condition: z.optional(z.unknown()) });
const Role = z.object({
  Description: z.literal("Patchbay: tenants/apply-orders"),
  Policies: z.array(z.object({ PolicyDocument: z.object({ Statement: z.array(Statement) }) })),
});

/** The statements about items in the role of the function. */
const statements = Object.values(synthesize("production").template.Resources)
  .flatMap(({ Properties }) => z.safeParse(Role, Properties).data?.Policies ?? [])
  .flatMap(({ PolicyDocument }) => PolicyDocument.Statement)
  .filter(({ Action }) => [Action].flat().some((action) => action.startsWith("dynamodb:")))
  .map(({ Action, Condition: condition }) => ({ actions: [Action].flat(), when: z.parse(Condition, condition) }));

/** What IAM asks for, as "action partition attributes". */
const actionsOf = ({ operation, input, items }: TableCall) =>
  input.TransactItems
    ? input.TransactItems.flatMap(({ Put, Update, Delete, ConditionCheck }) => [
        ...(Put ? [{ action: "PutItem", pk: Put.Item.pk, attributes: Object.keys(Put.Item) }] : []),
        ...(Update ? [{ action: "UpdateItem", pk: Update.Key.pk, attributes: [] }] : []),
        ...((Delete ?? ConditionCheck) ? [{ action: "other", pk: "", attributes: [] }] : []),
      ])
    : items.map(({ pk }) => ({
        action: operation.replace(/Get$/, "GetItem"),
        pk,
        attributes: [],
      }));

const isAllowed = ({ action, pk, attributes }: ReturnType<typeof actionsOf>[number]) =>
  statements.some(({ actions, when }) => {
    const patterns = when["ForAllValues:StringLike"]["dynamodb:LeadingKeys"];
    const named = when["ForAllValues:StringEquals"]?.["dynamodb:Attributes"];
    return (
      actions.includes(`dynamodb:${action}`) &&
      patterns.some((pattern) => pk.startsWith(pattern.replace(/\*$/, ""))) &&
      (!named || attributes.every((name) => named.includes(name)))
    );
  });

let calls: ReturnType<typeof actionsOf>;
let stop: () => void;
beforeAll(() => {
  stop = interceptTableCalls((call, pass) => {
    calls.push(...actionsOf(call));
    return pass();
  });
});
afterAll(() => stop());

const apply = async (file: unknown, invoked = handler) => {
  calls = [];
  return invoked(file, { awsRequestId: "1" });
};

describe("the function for ordering systems", () => {
  it("creates and finds orders and requests, within what its role allows", async () => {
    const [account, order, request] = [newId(), newId(), newId()];
    await apply({ accounts: { a: { id: account, name: "A" } } }, applyAll);
    expect(calls.every(isAllowed)).toBe(false);
    const file = {
      orders: { o: { id: order, account } },
      requests: { r: { id: request, order: "o", type: "ADD_MESSAGING_NUMBERS" } },
    };
    for (const status of ["created", "unchanged"]) {
      const output = { orders: { o: { id: order, status } }, requests: { r: { id: request, status } } };
      expect(await apply(file)).toMatchObject(output);
      expect(calls.filter((call) => !isAllowed(call))).toEqual([]);
    }
    // To an order that exists.
    const second = await apply({ requests: { s: { order, type: "OTHER" } } });
    expect(second).toMatchObject({ requests: { s: { status: "created" } } });
    expect(calls.filter((call) => !isAllowed(call))).toEqual([]);
    expect(calls.map(({ action }) => action)).toContain("UpdateItem");
  });

  it("refuses accounts, users and keys, of which it reads and writes nothing", async () => {
    const [id, account, order] = [newId(), newId(), newId()];
    await apply({ accounts: { a: { id: account, name: "A" } } }, applyAll);
    const file = {
      accounts: { a: { id, name: "A" } },
      users: { u: { id, account, permissions: ["messaging_switches:*"] } },
      keys: {},
      orders: { o: { id: order, account } },
    };
    const detail = "can't be in this file, which may have orders and requests only";
    const errors = ["accounts", "users", "keys"].flatMap(
      (section) => invalidBody("body", `/${section}`, { sub_code: "constraint.enum", detail }).errors,
    );
    expect(await apply(file)).toEqual({ errors });
    expect(calls.filter((call) => !isAllowed(call))).toEqual([]);
    expect(await get(keys.order(order))).toBeUndefined();
  });
});
