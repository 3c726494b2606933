import type { Route } from "../../shared/route.ts";

/** The message of a test that measures another cost. */
export const textsToChange =
  "if this cost is intended, change test/cost/expected.ts, the bill in docs/cost.md and the table in docs/limits.md";

/** The cost of one request to each endpoint. It has the status, AWS calls, sequential round trips, read units and write units. */
export const endpointCosts: readonly (readonly [
  name: string,
  status: number,
  calls: number,
  rounds: number,
  readUnits: number,
  writeUnits: number,
])[] = [
  ["request-attachments/create", 201, 4, 4, 5, 12],
  ["request-attachments/list", 200, 3, 2, 6, 0],
  ["request-attachments/show", 200, 2, 2, 6, 0],
  ["request-attachments/update", 200, 3, 3, 6, 7],
  ["request-attachments/delete", 200, 4, 4, 7, 16],
  ["request-attachments/create-upload", 201, 3, 3, 5, 3],
  ["order-attachments/create-upload", 201, 3, 3, 4, 3],
  ["request-attachments/complete-upload", 201, 5, 4, 6, 14],
  ["order-attachments/complete-upload", 201, 5, 4, 5, 12],
  ["order-attachments/create", 201, 4, 4, 4, 10],
  ["order-attachments/list", 200, 3, 2, 5, 0],
  ["order-attachments/show", 200, 2, 2, 5, 0],
  ["order-attachments/update", 200, 3, 3, 5, 7],
  ["order-attachments/delete", 200, 4, 4, 6, 14],
  ["switches/create", 201, 3, 3, 3, 13],
  ["switches/create-under-account", 201, 3, 3, 4, 17],
  ["switches/list", 200, 5, 3, 6, 0],
  ["switches/list-under-account", 200, 5, 3, 6, 0],
  ["switches/show", 200, 2, 2, 5, 0],
  ["switches/update", 200, 3, 3, 5, 5],
  ["switches/delete", 200, 3, 3, 5, 13],
];

/**
 * The cost of a request that is refused for its caller. It reads the API key, and who owns what is in the path. A valid key of
 * another tenant takes a second round, for its user and an earlier use of the Idempotency-Key.
 */
export const refusedCost = (caller: "foreign" | "revoked" | "made-up", { method }: Pick<Route, "method">) => {
  if (caller !== "foreign") return { status: 401, calls: ["BatchGetItem"], rounds: 1, readUnits: 2, writeUnits: 0 };
  const [second, readUnits] = method === "POST" ? (["BatchGetItem", 4] as const) : (["GetItem", 3] as const);
  return { status: 404, calls: ["BatchGetItem", second], rounds: 2, readUnits, writeUnits: 0 };
};

/** The cost of a checkout. It has the states of the workflow, calls of its functions, of the table and of S3, read units and write units. */
export const checkoutCosts = [
  { requests: 1, files: 10, states: 7, steps: 3, tableCalls: 47, fileCalls: 10, readUnits: 35, writeUnits: 69 },
  { requests: 50, files: 1, states: 7, steps: 3, tableCalls: 317, fileCalls: 50, readUnits: 312, writeUnits: 269 },
] as const;

/** `npm run test:faults` measures this one. */
export const largeCheckoutCost = {
  requests: 1,
  files: 500,
  states: 7,
  steps: 3,
  tableCalls: 1_527,
  fileCalls: 500,
  readUnits: 1_129,
  writeUnits: 2_519,
} as const;

/** The round trips that a query adds to those of its endpoint. */
export const queryRounds: ReadonlyMap<string, number> = new Map([
  ["request-attachments/list?include=order,file", 0],
  ["request-attachments/list?include=file,forwarding", 1],
  ["request-attachments/list?reference_id=", 0],
  ["request-attachments/show?include=order,file", 0],
  ["request-attachments/show?include=file,forwarding", 1],
  ["order-attachments/list?include=file", 0],
  ["order-attachments/list?reference_id=", 0],
  ["order-attachments/show?include=file,forwarding", 2],
  ["switches/list?include=account", 1],
  ["switches/list-under-account?include=account", 1],
  ["switches/show?include=account", 1],
]);

const ofEndpoint = new Map(endpointCosts.map(([name, , , rounds]) => [name, rounds]));

/** The round trips of each endpoint and of each query. */
export const expectedRounds: ReadonlyMap<string, number> = new Map([
  ...ofEndpoint,
  ...Array.from(queryRounds, ([name, more]) => [name, (ofEndpoint.get(name.replace(/\?.*/, "")) ?? 0) + more] as const),
]);
