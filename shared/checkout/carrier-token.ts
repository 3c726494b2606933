import { GetSecretValueCommand, SecretsManagerClient } from "@aws-sdk/client-secrets-manager";
import { clientSettings } from "../deadline.ts";
import { env } from "../env.ts";

/** How long the secret is cached. A new secret is used after this time at the latest, without a deployment. */
const cacheMs = 5 * 60_000;

/** There is no token to call the carrier with, or one that is too short. */
export class TokenError extends Error {
  override readonly name = "TokenError";
  readonly isShort: boolean;

  constructor(message: string, { isShort = false, ...options }: ErrorOptions & { readonly isShort?: boolean } = {}) {
    super(message, options);
    this.isShort = isShort;
  }
}

/** Masking a shorter text, such as `test`, would change what the carrier says. */
export const minTokenLength = 16;

const longEnough = (token: string, where: string): string => {
  if (token.length >= minTokenLength) return token;
  throw new TokenError(`the token in ${where} has fewer than ${minTokenLength} characters`, { isShort: true });
};

let cached: { readonly token: Promise<string>; readonly until: number } | undefined;

/** Returns the bearer token for the carrier, if there is one. Reads it from Secrets Manager if CARRIER_SECRET_ARN names a secret. */
export const carrierToken = async (): Promise<string | undefined> => {
  const arn = env.carrierSecretArn();
  const own = env.carrierToken();
  if (!arn) return own && longEnough(own, "CARRIER_TOKEN");
  if (cached && cached.until > Date.now()) return cached.token;
  const token = readSecret(arn);
  cached = { token, until: Date.now() + cacheMs };
  // A failed read is not cached, so the next call tries again.
  token.catch(() => {
    cached = undefined;
  });
  return token;
};

/** Reads the token again after the carrier has rejected it. Returns undefined if the token does not come from a secret. */
export const renewedCarrierToken = async (rejected: string | undefined): Promise<string | undefined> => {
  if (!env.carrierSecretArn()) return undefined;
  const current = cached;
  // When several calls are rejected at once, the first reads the secret for all of them.
  if (current && (await current.token) === rejected && cached === current) cached = undefined;
  return carrierToken();
};

const readSecret = async (arn: string): Promise<string> => {
  const client = new SecretsManagerClient(clientSettings(2_500));
  const secret = await client.send(new GetSecretValueCommand({ SecretId: arn })).catch((error: unknown) => {
    const { code, name } = Object(error);
    throw new TokenError(`the secret with its token could not be read (${code ?? name})`, { cause: error });
  });
  // A secret that was stored from a file often ends in a newline, which no header can contain.
  const token = secret.SecretString?.trim();
  if (!token) throw new TokenError("the secret with its token is empty");
  return longEnough(token, "its secret");
};

/** Masks the token in the carrier's words, even where JSON, a URL or HTML has escaped it. */
export const withoutToken = (text: string, token: string | undefined): string =>
  token ? text.replaceAll(new RegExp(Array.from(token, escapedOrNot).join(""), "gi"), "[token]") : text;

const escapedOrNot = (character: string): string => {
  const code = character.charCodeAt(0);
  const hex = code.toString(16).padStart(2, "0");
  return `(?:\\\\{0,4}(?:\\x${hex}|u00${hex})|%${hex}|&#(?:${code}|x${hex});)`;
};
