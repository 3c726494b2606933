import { rmSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod/mini";
import { readJsonFile } from "../local/json-file.ts";
import { stateFolder, writeStateFile } from "../local/state.ts";

/** LocalStack-compatible emulators. The operators' CLI finds a stack by the endpoint recorded here. */

const nameOf = (stackName: string) => `emulators/${stackName}.json`;
const fileOf = (stackName: string) => join(stateFolder(), nameOf(stackName));

export const recordEndpoint = (stackName: string, endpoint: string): void =>
  writeStateFile(nameOf(stackName), { endpoint });

/** The emulator to which `npm run deploy:local` deployed the stack. Undefined if it did not. */
export const recordedEndpoint = (stackName: string): string | undefined =>
  readJsonFile(z.object({ endpoint: z.url() }), fileOf(stackName))?.endpoint;

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
