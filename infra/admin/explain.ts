import { ApiError } from "../../shared/errors.ts";
import { safe, safeLines } from "./output.ts";

/** What to do about errors that come from elsewhere, by their names, codes or messages. */
const advice: readonly (readonly [RegExp, string])[] = [
  [
    /Region is missing|Region not accepted/,
    "No AWS region is set, or none that exists: set AWS_REGION, or AWS_PROFILE to a profile that has one. For the local stack, start it with `npm start`.",
  ],
  [
    /CredentialsProviderError|Could not load credentials/,
    "No AWS credentials were found: log in (`aws sso login`) and set AWS_PROFILE, or set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.",
  ],
  [
    /ExpiredToken|UnrecognizedClient|InvalidClientTokenId|InvalidSignature|SignatureDoesNotMatch/,
    "AWS refuses these credentials: log in again (`aws sso login`), or correct AWS_PROFILE.",
  ],
  [/AccessDenied|UnauthorizedException/, "These credentials may not do this: use a role for operators."],
  [/ResourceNotFoundException/, "There is no such table or state machine: correct --stack, TABLE_NAME or AWS_REGION."],
  [/NoSuchBucket/, "There is no such bucket: correct --stack, BUCKET_NAME or AWS_REGION."],
  [
    /ECONNREFUSED|ENOTFOUND|EAI_AGAIN|ECONNRESET|EHOSTUNREACH|TimeoutError|ETIMEDOUT/,
    "The service could not be reached: see that it is running, and that AWS_REGION and the AWS_ENDPOINT_URL variables are right.",
  ],
];

/** The name, the code and the message of an error and of its causes. */
const wordsOf = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error);
  const code = "code" in error ? String(error.code) : "";
  const inner = error instanceof AggregateError ? error.errors.map(wordsOf) : [];
  const cause = error.cause === undefined ? [] : [wordsOf(error.cause)];
  return [error.name === "Error" ? "" : error.name, code, error.message, ...inner, ...cause].filter(Boolean).join(" ");
};

/** What to do about an error, where that is known. */
export const adviceOn = (error: unknown): string | undefined => {
  const words = wordsOf(error);
  return advice.find(([pattern]) => pattern.test(words))?.[1];
};

const fault = ({ source, detail, params }: ApiError["body"]["errors"][number]) =>
  [source?.pointer, detail, params && JSON.stringify(params)].filter(Boolean).join(": ");

/** An error as a person can act on it: the faults of what was given, a line each; else its message, and what to do. */
export const explain = (error: unknown): string => {
  if (error instanceof ApiError && error.status < 500)
    return error.body.errors.map((each) => safe(fault(each))).join("\n");
  const cause = error instanceof ApiError ? error.cause : error;
  return safeLines([messageOf(cause), adviceOn(cause)].filter(Boolean).join("\n"));
};

/** An error's message. Network errors have none. */
export const messageOf = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error);
  if (error.message) return error.message;
  return "code" in error ? String(error.code) : error.name;
};
