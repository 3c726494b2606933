import { beforeAll, describe, expect, it } from "vitest";
import type { Route } from "../../shared/route.ts";
import { routes } from "../../shared/routes.ts";
import { apply } from "../support/fixtures/apply.ts";
import { allPermissions } from "../support/fixtures/tenants.ts";
import { checkInvariants } from "../support/models/invariants.ts";
import { fetchFromService, type ReceivedResponse, send } from "../support/requests/client.ts";
import { createResource, requestTo } from "../support/requests/request-per-endpoint.ts";
import { byExtent } from "../support/setup/extent.ts";

/**
 * The matrix of tenants. It combines every endpoint of the route table, every kind of key, the relation of the key's account to the
 * owner, the order's state, and the account's feature.
 */

const relations = ["own", "above", "below", "beside", "foreign"] as const;
type Relation = (typeof relations)[number];

const without = (pattern: RegExp) => allPermissions.filter((permission) => !pattern.test(permission));
/** Kinds of valid keys, by the permissions of their users. */
const users = {
  all: allPermissions,
  nothing: [],
  noParentInCart: without(/_cart(s|_requests):/),
  noParentCheckedOut: without(/^ordering_(requests|orders):/),
  noneOfItsOwn: without(/:\*$/),
} as const;
const invalidKinds = ["revoked", "expired", "userless", "disabled", "unknown"] as const;
const kinds = [...Object.keys(users), ...invalidKinds];

const states = ["CART", "CHECKED_OUT"] as const;
type State = (typeof states)[number];

type Cell = {
  readonly route: Route;
  readonly relation: Relation;
  readonly kind: string;
  readonly state: State;
  readonly feature: boolean;
};

/** The model, which is the status of a cell, in the order of the checks. */
const expected = ({ route, relation, kind, state, feature }: Cell): number => {
  if (!(kind in users)) return 401;
  const canAccess = relation === "own" || relation === "above";
  const ofAttachments = route.parent === "request" || route.parent === "order";
  if (route.parent && !canAccess) return 404;
  if (ofAttachments && !feature) return 403;
  if (kind === "nothing" || kind === "noneOfItsOwn") return 403;
  if (ofAttachments && kind === (state === "CART" ? "noParentInCart" : "noParentCheckedOut")) return 403;
  return route.on !== "collection" && !canAccess ? 404 : route.status;
};

/** Creates an owning account, one above, below and beside it, a foreign one, and in each a key of each kind. */
const createWorld = async (feature: boolean) => {
  const features = { ordering_attachment_access: feature };
  const keyOf = (relation: Relation, kind: string) => {
    const user = kind in users ? kind : kind === "userless" ? null : kind === "disabled" ? "disabled" : "all";
    const end = { revoked: kind === "revoked", expires_at: kind === "expired" ? "2020-01-01T00:00:00Z" : null };
    const root = relation === "foreign" ? "foreign" : "above";
    return [`${relation} ${kind}`, { account: relation, user: user && `${root} ${user}`, ...end }] as const;
  };
  const created = await apply({
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
      kind === "unknown" ? `apik_${"z".repeat(43)}` : (created.keys[`${relation} ${kind}`]?.key ?? ""),
    account: idOf(created.accounts, "own"),
    parent: ({ parent }: Route, state: State) => {
      if (parent === "account") return idOf(created.accounts, "own");
      return parent ? idOf(parent === "request" ? created.requests : created.orders, state) : "";
    },
  };
};

type World = Awaited<ReturnType<typeof createWorld>>;

/** Creates a resource for a cell. Accounts without the feature cannot have attachments, so their cells need none. */
const resourceFor = async (w: World, { route, state, feature }: Pick<Cell, "route" | "state" | "feature">) =>
  route.parent !== null && !feature
    ? missing
    : createResource(fetchFromService, route, { key: w.key("own", "all"), parent: w.parent(route, state) });

const missing = "01ARZ3NDEKTSV4RRFFQ69G5FAV";

const comparable = ({ status, headers, text }: ReceivedResponse, ...ids: readonly string[]) => {
  const kept = [...headers].filter(([name]) => !["x-request-id", "date", "content-length"].includes(name));
  return [status, Object.fromEntries(kept), ids.filter(Boolean).reduce((all, id) => all.replaceAll(id, missing), text)];
};

/** The stride of a sample is coprime to the numbers of relations and of kinds. */
const stride = byExtent({ sample: 37, most: 1, all: 1 });
let lists = 0;

/** Compares the response of a cell with the model. Returns the differences. */
const differences = async (w: World, cell: Cell, resource: string): Promise<string[]> => {
  const { route, relation, kind, state, feature } = cell;
  const parent = w.parent(route, state);
  const key = w.key(relation, kind);
  const response = await send(requestTo(route, { key, parent, resource }));
  const name = `${route.name} ${relation} ${kind} ${state}${feature ? "" : " without the feature"}`;
  if (response.status !== expected(cell)) return [`${name}: ${response.status} instead of ${expected(cell)}`];
  if (response.status !== 404) return [];
  const none = await send(requestTo(route, { key, parent: missing, resource: missing }));
  const [one, other] = [comparable(response, parent, resource), comparable(none)];
  return JSON.stringify(one) === JSON.stringify(other)
    ? []
    : [`${name}: ${JSON.stringify(one)} is not ${JSON.stringify(other)}`];
};

/** Runs ten cells at a time. */
const runAll = async (all: readonly Cell[], run: (cell: Cell) => Promise<string[]> | string[]): Promise<string[]> => {
  const found: string[] = [];
  for (let start = 0; start < all.length; start += 10)
    found.push(...(await Promise.all(all.slice(start, start + 10).map(run))).flat());
  return found;
};

describe.each([true, false])("with the feature: %s", (feature) => {
  let w: World;
  beforeAll(async () => {
    w = await createWorld(feature);
  });

  it.each(routes.map((route) => [route.name, route] as const))(
    "%s returns to each tenant the status that the model expects",
    { timeout: 900_000 },
    async (_, route) => {
      const ofAttachments = route.parent === "request" || route.parent === "order";
      for (const state of ofAttachments ? states : states.slice(0, 1)) {
        const of = { route, state, feature };
        const whole: Cell[] = relations.flatMap((relation) => kinds.map((kind) => ({ ...of, relation, kind })));
        // The remainder changes with each list, so that all lists together have every relation with every kind of key.
        const all = whole.filter((_, at) => at % stride === lists % stride);
        lists += 1;
        const kept = await resourceFor(w, of);
        const once = route.method === "DELETE" || route.on === "upload";
        const last = (cell: Cell) => once && expected(cell) === route.status;
        const found = await runAll(all, (cell) => (last(cell) ? [] : differences(w, cell, kept)));
        for (const cell of all.filter(last)) found.push(...(await differences(w, cell, await resourceFor(w, of))));
        expect(found).toEqual([]);
      }
    },
  );

  it("leaves no violation", async () => {
    expect((await checkInvariants(new Date())).filter(({ level }) => level === "violation")).toEqual([]);
  });
});
