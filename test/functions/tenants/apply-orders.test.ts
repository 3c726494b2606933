import { describe, expect, it } from "vitest";
import { handler as applyAll } from "../../../functions/tenants/apply.ts";
import { handler } from "../../../functions/tenants/apply-orders.ts";
import { newId } from "../../../shared/schema/fields.ts";
import { keys } from "../../../shared/table/keys.ts";
import { get } from "../../../shared/table/read.ts";
import { allowOnly } from "../../support/models/iam.ts";
import { invalidBody } from "../../support/requests/client.ts";

const apply = (file: unknown, invoked = handler) => invoked(file, { awsRequestId: "1" });

const newAccount = async () => {
  const account = newId();
  await apply({ accounts: { a: { id: account, name: "A" } } }, applyAll);
  return account;
};

describe("the function for ordering systems", () => {
  it("creates and finds orders and requests, within what its role allows", async () => {
    const [account, order, request] = [await newAccount(), newId(), newId()];
    allowOnly("tenants-apply-orders-role");
    const file = {
      orders: { o: { id: order, account } },
      requests: { r: { id: request, order: "o", type: "ADD_MESSAGING_NUMBERS" } },
    };
    for (const status of ["created", "unchanged"]) {
      const output = { orders: { o: { id: order, status } }, requests: { r: { id: request, status } } };
      expect(await apply(file)).toMatchObject(output);
    }
    // Adds a request to an existing order.
    const second = await apply({ requests: { s: { order, type: "OTHER" } } });
    expect(second).toMatchObject({ requests: { s: { status: "created" } } });
    expect(await apply({ accounts: { a: { name: "A" } } }, applyAll)).toMatchObject({
      errors: [{ code: "internal_error" }],
    });
  });

  it("refuses accounts, users and keys, of which it reads and writes nothing", async () => {
    const [id, account, order] = [newId(), await newAccount(), newId()];
    allowOnly("tenants-apply-orders-role");
    const file = {
      accounts: { a: { id, name: "A" } },
      users: { u: { id, account, permissions: ["messaging_switches:*"] } },
      keys: {},
      orders: { o: { id: order, account } },
    };
    const detail = "can't be in this file, which may have orders and requests only";
    const error = { sub_code: "constraint.enum", detail, params: { allowed: ["orders", "requests"] } };
    const errors = ["accounts", "users", "keys"].flatMap((section) => invalidBody("body", `/${section}`, error).errors);
    expect(await apply(file)).toEqual({ errors });
    expect(await get(keys.order(order))).toBeUndefined();
  });
});

it("the function for systems of record applies every section, within what its role allows", async () => {
  allowOnly("tenants-apply-role");
  const account = newId();
  const file = (name: string) => ({
    accounts: { root: { id: newId(), name }, a: { id: account, name }, b: { parent: "a", name } },
    users: { u: { account: "a", permissions: ["messaging_switches:*"] } },
    keys: { k: { account: "a", user: "u" } },
    orders: { o: { account: "b" } },
    requests: { r: { order: "o", type: "ADD_MESSAGING_NUMBERS" } },
  });
  expect(await apply(file("A"), applyAll)).toMatchObject({
    keys: { k: { status: "created" } },
    requests: { r: { status: "created" } },
  });
  expect(await apply(file("B"), applyAll)).toMatchObject({ accounts: { a: { status: "changed" } } });
  await expect(get(keys.switch(newId()))).rejects.toThrow("is not authorized to perform dynamodb:GetItem on SWITCH#");
});
