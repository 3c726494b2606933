import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod/mini";
import { makeFolder } from "../local/make-folder.ts";

/** LocalStack-compatible emulators. The operators' CLI finds a stack by the endpoint recorded here. */

const folder = () => join(process.env.PATCHBAY_STATE ?? join(import.meta.dirname, "../../.patchbay"), "emulators");
const fileOf = (stackName: string) => join(folder(), `${stackName}.json`);

const EndpointRecord = z.object({ endpoint: z.url() });

/** The file is readable only by its owner, like everything in that folder. */
export const recordEndpoint = (stackName: string, endpoint: string): void => {
  makeFolder(folder(), 0o700);
  forgetEndpoint(stackName);
  writeFileSync(fileOf(stackName), JSON.stringify({ endpoint }), { mode: 0o600 });
};

/** The emulator to which `npm run deploy:local` deployed the stack. Undefined if it did not. */
export const recordedEndpoint = (stackName: string): string | undefined => {
  try {
    return z.parse(EndpointRecord, JSON.parse(readFileSync(fileOf(stackName), "utf8"))).endpoint;
  } catch {
    return undefined;
  }
};

export const forgetEndpoint = (stackName: string): void => rmSync(fileOf(stackName), { force: true });

/** Emulators accept any credentials, and have no host names for buckets. */
export const emulatorVariables = (endpoint: string) => ({
  AWS_ENDPOINT_URL: endpoint,
  AWS_ENDPOINT_URL_S3: process.env.AWS_ENDPOINT_URL_S3 ?? endpoint,
  AWS_REGION: process.env.AWS_REGION ?? "us-east-1",
  AWS_ACCESS_KEY_ID: process.env.AWS_ACCESS_KEY_ID ?? "test",
  AWS_SECRET_ACCESS_KEY: process.env.AWS_SECRET_ACCESS_KEY ?? "test",
});

/** Directs this process to an emulator. Throws at once if nothing responds there: CDK would try for most of a minute. */
export const useEmulator = async (url: string): Promise<string> => {
  const endpoint = url.replace(/\/$/, "");
  await fetch(endpoint).catch((error: unknown) => {
    throw new Error(`Nothing responds at ${endpoint}: start LocalStack or MiniStack, or set AWS_ENDPOINT_URL.`, {
      cause: error,
    });
  });
  Object.assign(process.env, emulatorVariables(endpoint));
  return endpoint;
};
