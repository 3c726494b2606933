import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod/mini";

/** LocalStack-compatible endpoints, and a note for each stack of where it was deployed, for the operators' CLI. */

const folder = () => join(process.env.PATCHBAY_STATE ?? join(import.meta.dirname, "../../.patchbay"), "emulators");
const fileOf = (stackName: string) => join(folder(), `${stackName}.json`);

const Note = z.object({ endpoint: z.url() });

/** Readable for its owner alone, as everything in that folder. */
export const noteEndpoint = (stackName: string, endpoint: string): void => {
  mkdirSync(folder(), { recursive: true, mode: 0o700 });
  forgetEndpoint(stackName);
  writeFileSync(fileOf(stackName), JSON.stringify({ endpoint }), { mode: 0o600 });
};

/** The emulator that `npm run deploy:local` deployed the stack of that name to; undefined where it did not. */
export const notedEndpoint = (stackName: string): string | undefined => {
  try {
    return z.parse(Note, JSON.parse(readFileSync(fileOf(stackName), "utf8"))).endpoint;
  } catch {
    return undefined;
  }
};

export const forgetEndpoint = (stackName: string): void => rmSync(fileOf(stackName), { force: true });

/** A LocalStack-compatible endpoint accepts any credentials, and has no host names for buckets. */
export const emulatorVariables = (endpoint: string) => ({
  AWS_ENDPOINT_URL: endpoint,
  AWS_ENDPOINT_URL_S3: process.env.AWS_ENDPOINT_URL_S3 ?? endpoint,
  AWS_REGION: process.env.AWS_REGION ?? "us-east-1",
  AWS_ACCESS_KEY_ID: process.env.AWS_ACCESS_KEY_ID ?? "test",
  AWS_SECRET_ACCESS_KEY: process.env.AWS_SECRET_ACCESS_KEY ?? "test",
});

/** The environment of a command that works on an emulator. */
export const emulatorEnvironment = (endpoint: string): NodeJS.ProcessEnv => ({
  ...process.env,
  ...emulatorVariables(endpoint),
});

/** The context of every deployment to an emulator, unless it is given. */
export const emulatorContext = (endpoint: string) => ({
  stage: "sandbox",
  emulator: endpoint,
  // The functions run on this machine, or in containers made for it.
  architecture: process.arch === "arm64" ? "arm64" : "x86_64",
  // Where the end-to-end suite starts the stand-in carrier.
  carrierUrl: "http://127.0.0.1:4567",
});

/** The endpoint that the environment names. */
export const emulatorEndpoint = (): string | undefined => process.env.AWS_ENDPOINT_URL?.replace(/\/$/, "");

export const isAnswering = (endpoint: string): Promise<boolean> =>
  fetch(endpoint).then(
    () => true,
    () => false,
  );
