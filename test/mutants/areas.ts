/**
 * What is mutated together, and the tests that look for its mutants. The tests call functions of this process, so that one
 * mutant takes a fraction of a second. Tests that send requests over HTTP notice some more, in `npm test`.
 */
export type Area = {
  readonly mutate: readonly string[];
  readonly tests: readonly string[];
  /** Leaves out mutants of what runs while modules load. Each of them would need all tests of the area. */
  readonly ignoreStatic?: boolean;
};

export const areas: Readonly<Record<string, Area>> = {
  "shared/table": { mutate: ["shared/table/*.ts"], tests: ["test/shared/table/*.test.ts"] },
  "shared/http": {
    mutate: ["shared/http/*.ts", "shared/deadline.ts"],
    tests: ["test/shared/http/http.cases.test.ts", "test/shared/tenants/access.cases.test.ts"],
  },
  "access checks": {
    mutate: ["shared/attachments/access.ts", "shared/switches/access.ts"],
    tests: ["test/shared/tenants/access.cases.test.ts"],
  },
  "shared/tenants": {
    mutate: ["shared/tenants/{accounts,orders,schema}.ts"],
    tests: ["test/shared/tenants/access.cases.test.ts"],
  },
  "calls of the checkout": {
    mutate: ["shared/checkout/{carrier-client,carrier-form,carrier-function,for-each-concurrently,limits}.ts"],
    tests: [
      "test/shared/checkout/{carrier-client,protocol}.cases.test.ts",
      "test/shared/checkout/for-each-concurrently.test.ts",
    ],
  },
  "steps of the checkout": {
    mutate: ["shared/checkout/{carrier,end,forward,forward-attachment,plan,receipts,run,seal}.ts"],
    tests: ["test/shared/checkout/{protocol,steps}.cases.test.ts"],
    ignoreStatic: true,
  },
};
