import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { checkInvariants } from "../../infra/admin/invariants.ts";
import { ownPermission, parentPermissions, type Route, routes } from "../../shared/routes.ts";
import { apply } from "../../shared/tenants/apply.ts";
import { allPermissions } from "../support/fixtures/tenants.ts";
import { type Answered, fetchFromService, send } from "../support/requests/client.ts";
import { createResource, hasResourceId, requestTo } from "../support/requests/request-per-endpoint.ts";
import { byExtent } from "../support/setup/extent.ts";

/**
 * The whole matrix of tenants, from the route table: every endpoint x every kind of key x whose key it is, seen from
 * the account that owns the thing, x the order's state x the account's feature.
 */

const relations = ["own", "above", "below", "beside", "foreign"] as const;
type Relation = (typeof relations)[number];

const without = (pattern: RegExp) => allPermissions.filter((permission) => !pattern.test(permission));
/** Kinds of keys, by what their users may do. */
const users = {
  all: allPermissions,
  nothing: [],
  noParentInCart: without(/_cart(s|_requests):/),
  noParentCheckedOut: without(/^ordering_(requests|orders):/),
  noneOfItsOwn: without(/:\*$/),
} as const;
const dead = ["revoked", "expired", "userless", "disabled", "unknown"] as const;
const kinds = [...Object.keys(users), ...dead];

const states = ["CART", "CHECKED_OUT"] as const;
type State = (typeof states)[number];

type Cell = {
  readonly route: Route;
  readonly relation: Relation;
  readonly kind: string;
  readonly state: State;
  readonly feature: boolean;
};

/** The model: what a cell answers, in the order of the checks. */
const expected = ({ route, relation, kind, state, feature }: Cell): number => {
  if (!(kind in users)) return 401;
  const seen = relation === "own" || relation === "above";
  const ofAttachments = route.parent === "request" || route.parent === "order";
  if (route.parent && !seen) return 404;
  if (ofAttachments && !feature) return 403;
  if (kind === "nothing" || kind === "noneOfItsOwn") return 403;
  if (ofAttachments && kind === (state === "CART" ? "noParentInCart" : "noParentCheckedOut")) return 403;
  return hasResourceId(route) && !seen ? 404 : route.status;
};

/** The account that owns everything, with one above, below and beside it and a foreign one, and a key of each kind in each. */
const world = async (feature: boolean) => {
  const features = { ordering_attachment_access: feature };
  const keyOf = (relation: Relation, kind: string) => {
    const user = kind in users ? kind : kind === "userless" ? null : kind === "disabled" ? "disabled" : "all";
    const end = { revoked: kind === "revoked", expires_at: kind === "expired" ? "2020-01-01T00:00:00Z" : null };
    const root = relation === "foreign" ? "foreign" : "above";
    return [`${relation} ${kind}`, { account: relation, user: user && `${root} ${user}`, ...end }] as const;
  };
  const made = await apply({
    accounts: {
      above: { name: "Above", features },
      own: { name: "Own", parent: "above", features },
      below: { name: "Below", parent: "own", features },
      beside: { name: "Beside", parent: "above", features },
      foreign: { name: "Foreign", features },
    },
    users: Object.fromEntries(
      ["above", "foreign"].flatMap((account) => [
        ...Object.entries(users).map(
          ([name, permissions]) => [`${account} ${name}`, { account, permissions }] as const,
        ),
        [`${account} disabled`, { account, permissions: allPermissions, disabled: true }] as const,
      ]),
    ),
    keys: Object.fromEntries(relations.flatMap((relation) => kinds.map((kind) => keyOf(relation, kind)))),
    orders: { CART: { account: "own" }, CHECKED_OUT: { account: "own", state: "CHECKED_OUT" } },
    requests: { CART: { order: "CART", type: "PORT_IN" }, CHECKED_OUT: { order: "CHECKED_OUT", type: "PORT_IN" } },
  });
  const idOf = (part: Readonly<Record<string, { readonly id: string }>>, name: string) => part[name]?.id ?? "";
  return {
    key: (relation: Relation, kind: string) =>
      kind === "unknown" ? `apik_${"z".repeat(43)}` : (made.keys[`${relation} ${kind}`]?.key ?? ""),
    account: idOf(made.accounts, "own"),
    parent: ({ parent }: Route, state: State) => {
      if (parent === "account") return idOf(made.accounts, "own");
      return parent ? idOf(parent === "request" ? made.requests : made.orders, state) : "";
    },
  };
};

type World = Awaited<ReturnType<typeof world>>;

/** A thing for a cell to work on; attachments of accounts without the feature cannot be created: there, none is needed. */
const resourceFor = async (w: World, { route, state, feature }: Pick<Cell, "route" | "state" | "feature">) =>
  route.parent !== null && !feature
    ? missing
    : createResource(fetchFromService, route, { key: w.key("own", "all"), parent: w.parent(route, state) });

const missing = "01ARZ3NDEKTSV4RRFFQ69G5FAV";

const comparable = ({ status, headers, text }: Answered, ...ids: readonly string[]) => {
  const kept = [...headers].filter(([name]) => !["x-request-id", "date", "content-length"].includes(name));
  return [status, Object.fromEntries(kept), ids.filter(Boolean).reduce((all, id) => all.replaceAll(id, missing), text)];
};

/** `npm test` takes one cell in 13 of each list: prime to the numbers of relations and of kinds. */
const stride = byExtent({ sample: 13, most: 1, all: 1 });
let lists = 0;
let cells = 0;
afterAll(() => console.table([{ matrix: "cells of the tenant matrix", count: cells }]));

/** What a cell answered that it should not have. */
const wrong = async (w: World, cell: Cell, resource: string): Promise<string[]> => {
  cells += 1;
  const { route, relation, kind, state, feature } = cell;
  const parent = w.parent(route, state);
  const key = w.key(relation, kind);
  const answer = await send(requestTo(route, { key, parent, resource }));
  const name = `${route.name} ${relation} ${kind} ${state}${feature ? "" : " without the feature"}`;
  if (answer.status !== expected(cell)) return [`${name}: ${answer.status} instead of ${expected(cell)}`];
  if (answer.status !== 404) return [];
  const none = await send(requestTo(route, { key, parent: missing, resource: missing }));
  const [one, other] = [comparable(answer, parent, resource), comparable(none)];
  return JSON.stringify(one) === JSON.stringify(other)
    ? []
    : [`${name}: ${JSON.stringify(one)} is not ${JSON.stringify(other)}`];
};

/** A few at a time. */
const bounded = async (all: readonly Cell[], run: (cell: Cell) => Promise<string[]> | string[]): Promise<string[]> => {
  const found: string[] = [];
  for (let start = 0; start < all.length; start += 10)
    found.push(...(await Promise.all(all.slice(start, start + 10).map(run))).flat());
  return found;
};

describe.each([true, false])("with the feature: %s", (feature) => {
  let w: World;
  beforeAll(async () => {
    w = await world(feature);
  });

  it.each(routes.map((route) => [route.name, route] as const))(
    "%s answers each tenant as the model says",
    { timeout: 900_000 },
    async (_, route) => {
      const ofAttachments = route.parent === "request" || route.parent === "order";
      for (const state of ofAttachments ? states : states.slice(0, 1)) {
        const of = { route, state, feature };
        const whole: Cell[] = relations.flatMap((relation) => kinds.map((kind) => ({ ...of, relation, kind })));
        // The remainder moves on with each list, so that the lists together have every relation with every kind of key.
        const all = whole.filter((_, at) => at % stride === lists % stride);
        lists += 1;
        const kept = await resourceFor(w, of);
        const last = (cell: Cell) => route.method === "DELETE" && expected(cell) === route.status;
        const found = await bounded(all, (cell) => (last(cell) ? [] : wrong(w, cell, kept)));
        for (const cell of all.filter(last)) found.push(...(await wrong(w, cell, await resourceFor(w, of))));
        expect(found).toEqual([]);
      }
      expect((await checkInvariants(new Date())).filter(({ level }) => level === "violation")).toEqual([]);
    },
  );
});

describe("the model", () => {
  it("knows every permission that the routes ask for", () => {
    const asked = [...routes.map(ownPermission), ...Object.values(parentPermissions).flatMap(Object.values)];
    const granted = (permission: string) =>
      allPermissions.includes(permission) || allPermissions.includes(permission.replace(/:.*/, ":*"));
    expect(asked.filter((permission) => !granted(String(permission)))).toEqual([]);
  });
});
