import { rmSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod/mini";
import { directTo } from "../local/environment.ts";
import { readJsonFile } from "../local/json-file.ts";
import { stateFolder, writeStateFile } from "../local/state.ts";

/** Records deployments to LocalStack-compatible emulators. The operators' CLI finds a stack by the endpoint recorded here. */

const nameOf = (stackName: string) => `emulators/${stackName}.json`;
const fileOf = (stackName: string) => join(stateFolder(), nameOf(stackName));

export const recordEndpoint = (stackName: string, endpoint: string): void =>
  writeStateFile(nameOf(stackName), { endpoint });

/** Returns the emulator's endpoint if `./patchbay deploy-local` deployed the stack, otherwise undefined. */
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

const thisMachine = /^http:\/\/(127\.0\.0\.1|localhost)(?=:|$)/;

/**
 * LocalStack's host name in the containers of its functions and, by public DNS, on this machine. Signed URLs with it work in both.
 * https://docs.localstack.cloud/aws/capabilities/networking/accessing-endpoint-url/
 */
const nameOfLocalStack = "http://localhost.localstack.cloud";

/** Returns the endpoint in the URLs that functions sign, or undefined if they use the one that the emulator sets. */
export const signedEndpoint = (emulator: string | undefined): string | undefined =>
  emulator && !thisMachine.test(emulator) ? emulator : undefined;

const responds = (url: string): Promise<boolean> =>
  fetch(url, { signal: AbortSignal.timeout(5_000) }).then(
    ({ ok }) => ok,
    () => false,
  );

/**
 * Directs this process to an emulator. Throws immediately if nothing responds there, because CDK would try for most of a minute.
 * Returns the `stage` whose carrier that emulator's functions reach.
 */
export const useEmulator = async (url = "http://127.0.0.1:4566") => {
  const given = url.replace(/\/$/, "");
  await fetch(given).catch((cause: unknown) => {
    const advice = `With Docker, start LocalStack:
  docker compose up -d --wait && ./patchbay deploy-local
Without Docker, start MiniStack: see "On an emulator" in docs/rehearsal.md.`;
    throw new Error(`Nothing responds at ${given}. ${advice}`, { cause });
  });
  const stage = (await responds(`${given}/_ministack/health`)) ? "ministack" : "localstack";
  const named = given.replace(thisMachine, nameOfLocalStack);
  const endpoint = stage === "localstack" && (await responds(`${named}/_localstack/health`)) ? named : given;
  directTo(emulatorVariables(endpoint));
  return { endpoint, stage };
};
