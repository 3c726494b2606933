/** Files that are mutated together, and the tests that look for their mutants, which notice the most in the least time. */
export type Area = {
  readonly mutate: readonly string[];
  readonly tests: readonly string[];
  /** The file of `test/support/setup` that runs before each test file. By default, none does, because most tests call functions. */
  readonly setup?: "service" | "own-table";
  /** Leaves out mutants of code that runs while modules load. Each would need all tests of the area. */
  readonly ignoreStatic?: boolean;
};

const openapi = "test/infra/openapi/document.test.ts";

export const areas: Readonly<Record<string, Area>> = {
  "shared/table": {
    mutate: ["shared/table/*.ts"],
    tests: ["test/shared/table/*.test.ts", "test/functions/switches/{create,show-update-delete}.test.ts"],
    setup: "service",
  },
  "shared/http": {
    mutate: ["shared/http/*.ts", "shared/deadline.ts"],
    tests: [
      "test/shared/http/http.cases.test.ts",
      "test/shared/{deadline,environment}.cases.test.ts",
      "test/functions/attachments/{create,idempotency,list,show-update-delete,client-quirks,access}.test.ts",
      "test/functions/switches/create.test.ts",
      "test/functions/{include,every-route}.test.ts",
      "test/shared/history/history.test.ts",
    ],
    setup: "service",
  },
  "access checks": {
    mutate: ["shared/{attachments,switches}/access.ts", "shared/tenants/tenant-schema.ts"],
    tests: [
      "test/functions/every-route.test.ts",
      "test/functions/attachments/access.test.ts",
      "test/shared/attachments/forwarding.test.ts",
      "test/functions/attachments/direct-upload.test.ts",
      "test/functions/switches/{create,list,show-update-delete}.test.ts",
    ],
    setup: "service",
  },
  "schemas and errors": {
    mutate: ["shared/schema/*.ts", "shared/{attachments,switches}/*-schema.ts", "shared/{errors,limits}.ts"],
    tests: [
      openapi,
      "test/shared/{schema/schema,errors,http/http}.cases.test.ts",
      "test/functions/switches/{create,list}.test.ts",
      "test/functions/attachments/{create,direct-upload}.test.ts",
    ],
    setup: "service",
  },
  routes: {
    mutate: ["shared/{attachments,switches}/{routes,contract}.ts", "shared/routes.ts"],
    tests: [openapi],
  },
  attachments: {
    mutate: [
      "shared/attachments/{attachments,include,list,uploads}.ts",
      "shared/tenants/{accounts,orders}.ts",
      "functions/attachments/*.ts",
    ],
    tests: [
      "test/functions/include.test.ts",
      "test/functions/attachments/{create,direct-upload,idempotency,list,show-update-delete}.test.ts",
      "test/functions/every-route.test.ts",
      "test/shared/attachments/forwarding.test.ts",
      "test/shared/history/history.test.ts",
      "test/faults/sweep.test.ts",
    ],
    setup: "own-table",
    ignoreStatic: true,
  },
  "kinds of files": {
    mutate: ["shared/attachments/file-kind.ts"],
    tests: ["test/shared/attachments/file-kind.test.ts"],
  },
  "the sweep": {
    mutate: ["shared/attachments/{file-keys,files,sweep}.ts", "functions/sweep-orphan-files.ts"],
    tests: [
      "test/functions/attachments/direct-upload.test.ts",
      "test/faults/deadline.test.ts",
      "test/faults/sweep.test.ts",
      "test/shared/checkout/{begin,forward,submit}.cases.test.ts",
      "test/shared/checkout/carrier-function.test.ts",
    ],
    setup: "own-table",
    ignoreStatic: true,
  },
  switches: {
    mutate: ["shared/switches/{read,switches}.ts", "functions/switches/*.ts"],
    tests: [
      "test/functions/switches/*.test.ts",
      "test/functions/{include,every-route}.test.ts",
      "test/shared/history/history.test.ts",
    ],
    setup: "service",
    ignoreStatic: true,
  },
  history: {
    mutate: ["shared/history/*.ts", "functions/events/*.ts"],
    tests: [
      "test/functions/events/*.test.ts",
      "test/shared/history/*.test.ts",
      "test/shared/checkout/{begin,forward,submit}.cases.test.ts",
    ],
    setup: "service",
  },
  "environment and log": {
    mutate: ["shared/{env,log}.ts", "shared/checkout/step-handler.ts"],
    tests: ["test/shared/environment.cases.test.ts"],
  },
  "tenants' files": {
    mutate: [
      "shared/tenants/{apply,apply-function,apply-plan,apply-schema,references,transactions}.ts",
      "functions/tenants/*.ts",
    ],
    tests: [
      "test/shared/tenants/apply.cases.test.ts",
      "test/infra/admin/{apply,values}.test.ts",
      "test/functions/tenants/*.test.ts",
      "test/shared/history/history.test.ts",
    ],
    setup: "own-table",
  },
  "calls of the checkout": {
    mutate: [
      "shared/checkout/{carrier-client,carrier-form,carrier-responses,carrier-function,carrier-token,limits}.ts",
      "shared/for-each-concurrently.ts",
    ],
    tests: [
      "test/shared/checkout/carrier-client.cases.test.ts",
      "test/shared/checkout/{carrier-function,carrier}.test.ts",
      "test/shared/for-each-concurrently.test.ts",
    ],
    setup: "service",
  },
  "steps of the checkout": {
    mutate: [
      "shared/checkout/{carrier,execution,forward,forward-attachment,plan,receipts,checkout-run,checkout-schema,submit}.ts",
    ],
    tests: [
      "test/shared/checkout/{begin,forward,submit}.cases.test.ts",
      "test/shared/checkout/{run,start,carrier,carrier-function,failure}.test.ts",
    ],
    ignoreStatic: true,
  },
  "functions of the checkout": {
    mutate: ["functions/checkout/*.ts"],
    tests: ["test/functions/checkout/*.test.ts", "test/shared/checkout/{run,carrier}.test.ts"],
    setup: "service",
  },
};
