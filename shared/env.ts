import { limits } from "./limits.ts";

/** Every environment variable that the functions read. A missing or malformed one throws. */

const required = (name: string): string => {
  const value = process.env[name];
  if (!value) throw new Error(`The environment variable ${name} is not set.`);
  return value;
};

const optional = (name: string): string | undefined => process.env[name] || undefined;

const wholeNumber = (name: string, fallback: number): number => {
  const text = optional(name) ?? String(fallback);
  if (!/^\d{1,15}$/.test(text))
    throw new Error(`The environment variable ${name} must be a whole number, not ${text}.`);
  return Number(text);
};

export const logLevels = ["DEBUG", "INFO", "WARN", "ERROR", "SILENT"] as const;

const levelOf = (name: string) => {
  const level = logLevels.find((each) => each === name);
  if (!level)
    throw new Error(`The environment variable LOG_LEVEL must be one of ${logLevels.join(", ")}, not ${name}.`);
  return level;
};

export const env = {
  /** The DynamoDB table of all metadata. */
  tableName: () => required("TABLE_NAME"),
  /** The S3 bucket of the stored files. */
  bucketName: () => required("BUCKET_NAME"),
  /** Whether S3 is an emulator. The SDK reads these two variables itself. */
  hasS3Endpoint: () => Boolean(optional("AWS_ENDPOINT_URL_S3") ?? optional("AWS_ENDPOINT_URL")),
  /** The carrier's base address. */
  carrierUrl: () => required("CARRIER_URL"),
  /** The bearer token for the carrier, if it needs one. */
  carrierToken: () => optional("CARRIER_TOKEN"),
  /** The secret in Secrets Manager with that token, in place of CARRIER_TOKEN. */
  carrierSecretArn: () => optional("CARRIER_SECRET_ARN"),
  /** How long one call to the carrier may take, its file included, in milliseconds. */
  carrierTimeoutMs: () => wholeNumber("CARRIER_TIMEOUT_MS", 30_000),
  /** The longest wait, in seconds, before a checkout calls an unavailable carrier again, unless that asks for more. */
  carrierLongestWaitSeconds: () => wholeNumber("CARRIER_LONGEST_WAIT_SECONDS", 900),
  /** The state machine of the checkout. */
  stateMachineArn: () => required("STATE_MACHINE_ARN"),
  /** The largest file of an upload, in bytes: what a 6 MB event can carry as base64, with room for the rest of it. */
  maxFileBytes: () => wholeNumber("MAX_FILE_BYTES", limits.fileBytes),
  /** The largest file that is sent to storage directly, in bytes: at most 104,857,600. */
  maxUploadBytes: () => Math.min(wholeNumber("MAX_UPLOAD_BYTES", limits.uploadBytes), limits.uploadBytes),
  /** The least level that is logged: DEBUG, INFO, WARN, ERROR or SILENT. */
  logLevel: () => levelOf(optional("LOG_LEVEL") ?? "INFO"),
  /** X-Ray's trace of the invocation; Lambda sets it. */
  traceId: () => optional("_X_AMZN_TRACE_ID"),
};
