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

const parseLogLevel = (name: string) => {
  const level = logLevels.find((each) => each === name);
  if (!level)
    throw new Error(`The environment variable LOG_LEVEL must be one of ${logLevels.join(", ")}, not ${name}.`);
  return level;
};

export const env = {
  tableName: () => required("TABLE_NAME"),
  bucketName: () => required("BUCKET_NAME"),
  /** Whether S3 is an emulator. The SDK itself reads these two variables as well. */
  hasS3Endpoint: () => Boolean(optional("AWS_ENDPOINT_URL_S3") ?? optional("AWS_ENDPOINT_URL")),
  carrierUrl: () => required("CARRIER_URL"),
  /** The name or the ARN of the adapter function that is invoked instead of CARRIER_URL. */
  carrierFunction: () => optional("CARRIER_FUNCTION"),
  /** Lambda's address. The SDK itself reads these two variables as well. */
  lambdaEndpoint: (region: string) =>
    optional("AWS_ENDPOINT_URL_LAMBDA") ?? optional("AWS_ENDPOINT_URL") ?? `https://lambda.${region}.amazonaws.com`,
  /** Whom the events of functions/tenants/apply.ts name as the operator: the function's role. */
  operator: () => optional("OPERATOR") ?? "local",
  carrierToken: () => optional("CARRIER_TOKEN"),
  /** The secret in Secrets Manager that contains the token, instead of CARRIER_TOKEN. */
  carrierSecretArn: () => optional("CARRIER_SECRET_ARN"),
  /** The timeout of one call to the carrier, in milliseconds. A call with a file gets more time: see checkout/limits.ts. */
  carrierTimeoutMs: () => wholeNumber("CARRIER_TIMEOUT_MS", 30_000),
  /** The longest wait, in seconds, before an unavailable carrier is called again, unless its `Retry-After` is longer. */
  carrierLongestWaitSeconds: () => wholeNumber("CARRIER_LONGEST_WAIT_SECONDS", 900),
  /** Whether a malware scan tags each file, so that only clean ones are forwarded. */
  malwareScan: () => optional("MALWARE_SCAN") !== undefined,
  eventBusName: () => required("EVENT_BUS_NAME"),
  /** The queue for events that cannot be read. */
  deadLettersUrl: () => required("DEAD_LETTERS_URL"),
  stateMachineArn: () => required("STATE_MACHINE_ARN"),
  /** The largest file in a form, in bytes. Base64-encoded, it must fit into a 6 MB event beside the other parts. */
  maxFileBytes: () => wholeNumber("MAX_FILE_BYTES", limits.fileBytes),
  /** The largest file of a direct upload, in bytes. It is also the most that can be configured. */
  maxUploadBytes: () => Math.min(wholeNumber("MAX_UPLOAD_BYTES", limits.uploadBytes), limits.uploadBytes),
  logLevel: () => parseLogLevel(optional("LOG_LEVEL") ?? "INFO"),
  /** The stack that this function is part of. */
  stackName: () => optional("STACK_NAME") ?? "local",
  /** The X-Ray trace of the invocation, set by Lambda. */
  traceId: () => optional("_X_AMZN_TRACE_ID"),
};
