import type { TestProject } from "vitest/node";
import * as z from "zod/mini";
import { useTarget } from "../../infra/admin/cli/target.ts";
import { runningStacks } from "../../infra/local/state.ts";
import type {} from "../support/servers/stack.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** What the tests of the interface use. With null, they create it with the operators' CLI. */
    given: Given | null;
    carrierUrl: string;
    malwareScan: boolean;
    /** A deployment's bus has the name of the stack. The local stack serves its events at a URL. */
    events: { eventBus: string; eventsUrl: string };
  }
}

const Given = z.object({
  key: z.string(),
  request: z.string(),
  order: z.string(),
  account: z.optional(z.string()),
  otherKey: z.optional(z.string()),
  guestKey: z.optional(z.string()),
});
type Given = z.infer<typeof Given>;

/** Finds the carrier, and the settings that the CLI needs to create data in the deployment under test. */
export default async (project: TestProject) => {
  const baseUrl = process.env.E2E_BASE_URL ?? "";
  process.env.LOG_LEVEL = "SILENT";
  project.provide("baseUrl", baseUrl);
  const given = process.env.E2E_GIVEN ? z.parse(Given, JSON.parse(process.env.E2E_GIVEN)) : null;
  project.provide("given", given);
  project.provide("environment", environment());
  // Another implementation has neither the operators' CLI nor AWS.
  if (given) return;
  const stack = process.env.PATCHBAY_STACK || "Patchbay-sandbox";
  const local = runningStacks().find(({ url }) => url === baseUrl);
  if (local) await useTarget({ port: String(local.port) });
  else {
    // MiniStack and LocalStack serve APIs at the same address as all other services.
    if (baseUrl.includes("/_user_request_")) process.env.AWS_ENDPOINT_URL ??= new URL(baseUrl).origin;
    await useTarget({ stack });
  }
  const carrierUrl = await runningCarrier();
  project.provide("carrierUrl", carrierUrl);
  project.provide("malwareScan", Boolean(local?.environment.MALWARE_SCAN || process.env.E2E_MALWARE_SCAN));
  project.provide("events", { eventBus: stack, eventsUrl: local?.environment.EVENTS ?? "" });
  project.provide("environment", environment());
};

const runningCarrier = async (): Promise<string> => {
  const url = process.env.E2E_CARRIER_URL ?? process.env.CARRIER_URL ?? "http://127.0.0.1:4567";
  await fetch(url).catch((cause: unknown) => {
    throw new Error(`No simulated carrier responds at ${url}. Start one with ./patchbay carrier.`, { cause });
  });
  return url.replace(/\/$/, "");
};

/** The variables that the tests' processes and the CLI read. */
const environment = () => {
  const names = /^(AWS_|TABLE_NAME|BUCKET_NAME|STATE_MACHINE_|LOG_LEVEL)/;
  return Object.fromEntries(
    Object.entries(process.env).flatMap(([name, value]) =>
      names.test(name) && value !== undefined ? [[name, value] as const] : [],
    ),
  );
};
