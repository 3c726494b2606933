import { GetSecretValueCommand, SecretsManagerClient } from "@aws-sdk/client-secrets-manager";
import { env } from "../env.ts";

/** For how long a secret is kept: a new one is in use after that, without a deployment. */
const keptMs = 5 * 60_000;

let kept: { readonly token: Promise<string>; readonly until: number } | undefined;

/**
 * The bearer token that the carrier asks for, undefined if it asks for none: from Secrets Manager where
 * CARRIER_SECRET_ARN names a secret, else from CARRIER_TOKEN. Throws what Secrets Manager throws.
 */
export const carrierToken = async (): Promise<string | undefined> => {
  const arn = env.carrierSecretArn();
  if (!arn) return env.carrierToken();
  if (kept && kept.until > Date.now()) return kept.token;
  const token = readSecret(arn);
  kept = { token, until: Date.now() + keptMs };
  // A read that failed is not kept: the next call tries again.
  token.catch(() => {
    kept = undefined;
  });
  return token;
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
