import { GetSecretValueCommand, SecretsManagerClient } from "@aws-sdk/client-secrets-manager";
import { env } from "../env.ts";

/** For how long a secret is cached: a new one is in use after that, without a deployment. */
const cacheMs = 5 * 60_000;

let cached: { readonly token: Promise<string>; readonly until: number } | undefined;

/**
 * The bearer token that the carrier asks for, undefined if it asks for none: from Secrets Manager where
 * CARRIER_SECRET_ARN names a secret, else from CARRIER_TOKEN. Throws what Secrets Manager throws.
 */
export const carrierToken = async (): Promise<string | undefined> => {
  const arn = env.carrierSecretArn();
  if (!arn) return env.carrierToken();
  if (cached && cached.until > Date.now()) return cached.token;
  const token = readSecret(arn);
  cached = { token, until: Date.now() + cacheMs };
  // A failed read is not cached: the next call tries again.
  token.catch(() => {
    cached = undefined;
  });
  return token;
};

/** The token read again after the carrier has rejected it; undefined where it does not come from a secret. */
export const renewedCarrierToken = async (rejected: string | undefined): Promise<string | undefined> => {
  if (!env.carrierSecretArn()) return undefined;
  const current = cached;
  // Of several calls that are rejected at once, the first reads the secret for all.
  if (current && (await current.token) === rejected && cached === current) cached = undefined;
  return carrierToken();
};

const readSecret = async (arn: string): Promise<string> => {
  const client = new SecretsManagerClient({
    maxAttempts: 3,
    requestHandler: { connectionTimeout: 1_000, requestTimeout: 2_500, throwOnRequestTimeout: true },
  });
  const { SecretString: token } = await client.send(new GetSecretValueCommand({ SecretId: arn }));
  if (!token) throw new Error("The carrier's secret is empty.");
  return token;
};
