import * as z from "zod/mini";
import { ApiError } from "../../../shared/errors.ts";
import { maxProblems } from "../../../shared/limits.ts";
import { PartlyAppliedError } from "../../../shared/tenants/applied.ts";
import { safe, safeLines } from "./output.ts";

/** An error whose message tells the operator what to do. The CLI prints it and exits with 1. */
export class CommandError extends Error {
  override readonly name = "CommandError";
}

/** An error in how a command is used. The CLI exits with 2. */
export class UsageError extends CommandError {
  usage?: string;
}

const advice: readonly (readonly [RegExp, string])[] = [
  [/ENOSPC|EDQUOT|disk is full/, "The disk is full. Free space on the disk with the data."],
  [
    /Region is missing|Region not accepted/,
    "No valid AWS region is set: set AWS_REGION, or AWS_PROFILE to a profile that has one. For the local stack, start it with `npm start`.",
  ],
  [
    /CredentialsProviderError|Could not load credentials/,
    "No AWS credentials were found: log in (`aws sso login`) and set AWS_PROFILE, or set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.",
  ],
  [
    /ExpiredToken|UnrecognizedClient|InvalidClientTokenId|InvalidSignature|SignatureDoesNotMatch/,
    "AWS rejects these credentials: log in again (`aws sso login`), or correct AWS_PROFILE.",
  ],
  [
    /AccessDenied|UnauthorizedException/,
    'These credentials do not allow this: "Permissions" in infra/README.md lists the policies that do.',
  ],
  [
    /ResourceNotFoundException/,
    "The table or the state machine does not exist: correct --stack, TABLE_NAME, STATE_MACHINE_ARN or AWS_REGION.",
  ],
  [
    /UnknownOperation/,
    "The local stack, or this emulator, does not support this: choose a stack on AWS with --stack or PATCHBAY_STACK.",
  ],
  [/NoSuchBucket/, "The bucket does not exist: correct --stack, BUCKET_NAME or AWS_REGION."],
  [
    /ECONNREFUSED|ENOTFOUND|EAI_AGAIN|ECONNRESET|EHOSTUNREACH|TimeoutError|ETIMEDOUT/,
    "The service could not be reached: check that it is running, and that AWS_REGION and the AWS_ENDPOINT_URL variables are correct.",
  ],
];

const searchText = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error);
  const code = "code" in error ? String(error.code) : "";
  const inner = error instanceof AggregateError ? error.errors.map(searchText) : [];
  const cause = error.cause === undefined ? [] : [searchText(error.cause)];
  return [error.name === "Error" ? "" : error.name, code, error.message, ...inner, ...cause].filter(Boolean).join(" ");
};

export const adviceOn = (error: unknown): string | undefined => {
  const text = searchText(error);
  return advice.find(([pattern]) => pattern.test(text))?.[1];
};

/** An empty pointer means the whole file. Adds the allowed names to details that do not list them. */
const describeError = ({ source, sub_code, detail, params }: ApiError["body"]["errors"][number]) => {
  const { data: allowed } = z.safeParse(z.array(z.string()), params?.allowed);
  const names = sub_code === "constraint.enum" && allowed?.every((one) => !detail.includes(one)) ? allowed : [];
  const known = names.length > 0 ? `; allowed are ${names.join(", ")}` : "";
  return [source && (source.pointer || "(the whole file)"), detail + known].filter(Boolean).join(": ");
};

const onImmutable =
  "Leave out what can't be changed, or give it its present value. For another value, create a new entry, without the id.";

/** Describes an error to the operator. Returns one line for each error in the input, or the message and advice. */
export const explain = (error: unknown): string => {
  if (error instanceof ApiError && error.status < 500) {
    const lines = error.body.errors.map((each) => safe(describeError(each)));
    if (error.body.errors.some(({ sub_code }) => sub_code === "constraint.immutable")) lines.push(onImmutable);
    if (lines.length === maxProblems) lines.push(`At most ${maxProblems} problems are listed.`);
    return lines.join("\n");
  }
  const cause = error instanceof ApiError ? error.cause : error;
  return safeLines([messageOf(cause), adviceOn(cause)].filter(Boolean).join("\n"));
};

/** Describes an error as JSON. It has the errors of the API's body, or one with a detail, and the applied part of a file. */
export const errorBody = (error: unknown): object => ({
  ...(error instanceof PartlyAppliedError && error.applied),
  errors: error instanceof ApiError && error.status < 500 ? error.body.errors : [{ detail: explain(error) }],
});

/** Some network errors have no message, only a code. */
export const messageOf = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error);
  if (error.message) return error.message;
  return "code" in error ? String(error.code) : error.name;
};
