import type { TestProject } from "vitest/node";
import { useTarget } from "../../infra/admin/target.ts";
import { startCarrier } from "../../infra/local/carrier.ts";
import { runningStacks } from "../../infra/local/state.ts";
import type {} from "../support/servers/stack.ts";

declare module "vitest" {
  interface ProvidedContext {
    carrierUrl: string;
    malwareScan: boolean;
    /** A deployment's bus has the name of its stack; the local stack serves its events at a URL. */
    events: { eventBus: string; eventsUrl: string };
  }
}

/** The carrier's address that deploy:local configures by default. */
const carrierPort = Number(process.env.E2E_CARRIER_PORT ?? 4567);

/** Finds the settings that the CLI needs to create data in the deployment under test, and its carrier. */
export default async (project: TestProject) => {
  const baseUrl = process.env.E2E_BASE_URL ?? "";
  process.env.LOG_LEVEL = "SILENT";
  const stack = process.env.PATCHBAY_STACK || "Patchbay-local";
  const local = runningStacks().find(({ url }) => url === baseUrl);
  if (local) await useTarget({ port: String(local.port) });
  else {
    // MiniStack and LocalStack serve the APIs under the same address as all other services.
    if (baseUrl.includes("/_user_request_")) process.env.AWS_ENDPOINT_URL ??= new URL(baseUrl).origin;
    await useTarget({ stack });
  }
  const { url: carrierUrl, stop } = await carrier();
  project.provide("baseUrl", baseUrl);
  project.provide("carrierUrl", carrierUrl);
  project.provide("malwareScan", Boolean(local?.environment.MALWARE_SCAN || process.env.E2E_MALWARE_SCAN));
  project.provide("events", { eventBus: stack, eventsUrl: local?.environment.EVENTS ?? "" });
  project.provide("environment", environment());
  return stop;
};

const carrier = async () => {
  const url = process.env.E2E_CARRIER_URL ?? process.env.CARRIER_URL;
  if (url) return { url: url.replace(/\/$/, ""), stop: async () => {} };
  const started = await startCarrier({ port: carrierPort });
  return { url: started.url, stop: started.close };
};

/** The variables that the tests' processes and the CLI read. */
const environment = () => {
  const names = /^(AWS_|TABLE_NAME|BUCKET_NAME|DYNAMODB_|S3_|STATE_MACHINE_|STEP_FUNCTIONS_|LOG_LEVEL)/;
  return Object.fromEntries(
    Object.entries(process.env).flatMap(([name, value]) =>
      names.test(name) && value !== undefined ? [[name, value] as const] : [],
    ),
  );
};
