import type { TestProject } from "vitest/node";
import { useTarget } from "../../infra/admin/target.ts";
import { startCarrier } from "../../infra/local/carrier.ts";
import { runningStacks } from "../../infra/local/state.ts";
import type {} from "../support/servers/stack.ts";

declare module "vitest" {
  interface ProvidedContext {
    carrierUrl: string;
  }
}

/** Where deploy:local tells the functions that the carrier is, unless it is told otherwise. */
const carrierPort = Number(process.env.E2E_CARRIER_PORT ?? 4567);

/** Finds what the CLI needs to make data for the deployment under test, and the carrier that the deployment calls. */
export default async (project: TestProject) => {
  const baseUrl = process.env.E2E_BASE_URL ?? "";
  process.env.LOG_LEVEL = "SILENT";
  const local = runningStacks().find(({ url }) => url === baseUrl);
  if (local) await useTarget({ port: String(local.port) });
  else {
    // MiniStack and LocalStack answer for the APIs below the endpoint that answers for all else.
    if (baseUrl.includes("/_user_request_")) process.env.AWS_ENDPOINT_URL ??= new URL(baseUrl).origin;
    await useTarget({ stack: process.env.PATCHBAY_STACK || "Patchbay-sandbox" });
  }
  const { url: carrierUrl, stop } = await carrier();
  project.provide("baseUrl", baseUrl);
  project.provide("carrierUrl", carrierUrl);
  project.provide("environment", environment());
  return stop;
};

const carrier = async () => {
  const url = process.env.E2E_CARRIER_URL ?? process.env.CARRIER_URL;
  if (url) return { url: url.replace(/\/$/, ""), stop: async () => {} };
  const started = await startCarrier({ port: carrierPort });
  return { url: started.url, stop: started.close };
};

/** What the tests' own processes and the CLI read. */
const environment = () => {
  const names = /^(AWS_|TABLE_NAME|BUCKET_NAME|DYNAMODB_|S3_|STATE_MACHINE_|STEP_FUNCTIONS_|LOG_LEVEL)/;
  return Object.fromEntries(
    Object.entries(process.env).flatMap(([name, value]) =>
      names.test(name) && value !== undefined ? [[name, value] as const] : [],
    ),
  );
};
