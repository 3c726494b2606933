import { carrierNames, limits } from "./limits.ts";

/**
 * The functions' environment variables. `npm run tables` writes them to infra/README.md. A malformed variable throws, and so does a
 * required one that is missing.
 */
export const variables = {
  TABLE_NAME: "the table",
  BUCKET_NAME: "the bucket",
  STATE_MACHINE_ARN: "the state machine",
  EVENT_BUS_NAME: "the EventBridge bus of the events",
  DEAD_LETTERS_URL: "the queue for events that cannot be read",
  MAX_FILE_BYTES: "the largest file in a form",
  MAX_UPLOAD_BYTES: "the largest file of a direct upload; the default is the maximum",
  MALWARE_SCAN: "if set, only files with the tag of a clean malware scan are forwarded",
  CARRIER_URL: "the carrier's base address",
  CARRIER_FUNCTION: "the adapter function, instead of `CARRIER_URL`",
  CARRIER_NAME: "the carrier's name, which stays when its address changes",
  CARRIER_TOKEN: "the bearer token for the carrier",
  CARRIER_SECRET_ARN: "the secret that contains the token, instead of `CARRIER_TOKEN`",
  CARRIER_TIMEOUT_MS: "the timeout of a call, at most 35000; a file adds a second for each megabyte",
  CARRIER_MAX_WAIT_SECONDS:
    "the longest wait for an unavailable carrier, unless its `Retry-After` is longer; 2 with `npm start`",
  OPERATOR: "the actor in the events of `functions/tenants/`: on AWS, their role",
  STACK_NAME: "the stack, a dimension of the metric `Defects`",
  LOG_LEVEL: "the lowest level to log: `DEBUG`, `INFO`, `WARN`, `ERROR` or `SILENT`",
  AWS_ENDPOINT_URL_S3: "S3's address, also for the AWS SDK",
  AWS_ENDPOINT_URL_LAMBDA: "Lambda's address",
  AWS_ENDPOINT_URL: "the address of an emulator, for every service",
  AWS_LAMBDA_FUNCTION_NAME: "set by Lambda: responses have `Strict-Transport-Security`",
  _X_AMZN_TRACE_ID: "set by Lambda: the X-Ray trace of the invocation, which is logged",
} as const;

type Variable = keyof typeof variables;

/** The values of variables that are not set. A variable without one is required, or turns something on. */
export const defaults = {
  MAX_FILE_BYTES: limits.fileBytes,
  MAX_UPLOAD_BYTES: limits.uploadBytes,
  CARRIER_TIMEOUT_MS: 30_000,
  CARRIER_MAX_WAIT_SECONDS: 900,
  OPERATOR: "local",
  STACK_NAME: "local",
  LOG_LEVEL: "INFO",
  AWS_ENDPOINT_URL_LAMBDA: "https://lambda.<region>.amazonaws.com",
} as const satisfies Partial<Record<Variable, string | number>>;

const required = (name: Variable): string => {
  const value = process.env[name];
  if (!value) throw new Error(`The environment variable ${name} is not set.`);
  return value;
};

const optional = (name: Variable): string | undefined => process.env[name] || undefined;

type NumericVariable = "MAX_FILE_BYTES" | "MAX_UPLOAD_BYTES" | "CARRIER_TIMEOUT_MS" | "CARRIER_MAX_WAIT_SECONDS";

const wholeNumber = (name: NumericVariable, maximum = Number.MAX_SAFE_INTEGER): number => {
  const text = optional(name) ?? String(defaults[name]);
  if (!/^\d{1,15}$/.test(text) || Number(text) > maximum)
    throw new Error(`The environment variable ${name} must be a whole number up to ${maximum}, not ${text}.`);
  return Number(text);
};

export const logLevels = ["DEBUG", "INFO", "WARN", "ERROR", "SILENT"] as const;

const parseLogLevel = (name: string) => {
  const level = logLevels.find((each) => each === name);
  if (!level)
    throw new Error(`The environment variable LOG_LEVEL must be one of ${logLevels.join(", ")}, not ${name}.`);
  return level;
};

/** Validates the name of a carrier, which an option or a variable has. */
export const parseCarrierName = (option: string, name: string): string => {
  if (carrierNames.test(name)) return name;
  throw new Error(`${option} must be a name of 1 to 64 characters, not ${JSON.stringify(name.slice(0, 80))}.`);
};

export const env = {
  tableName: () => required("TABLE_NAME"),
  bucketName: () => required("BUCKET_NAME"),
  /** Whether S3 is an emulator. */
  hasS3Endpoint: () => Boolean(optional("AWS_ENDPOINT_URL_S3") ?? optional("AWS_ENDPOINT_URL")),
  carrierUrl: () => required("CARRIER_URL"),
  carrierFunction: () => optional("CARRIER_FUNCTION"),
  carrierName: () => parseCarrierName("CARRIER_NAME", required("CARRIER_NAME")),
  lambdaEndpoint: (region: string) =>
    optional("AWS_ENDPOINT_URL_LAMBDA") ??
    optional("AWS_ENDPOINT_URL") ??
    defaults.AWS_ENDPOINT_URL_LAMBDA.replace("<region>", region),
  operator: () => optional("OPERATOR") ?? defaults.OPERATOR,
  carrierToken: () => optional("CARRIER_TOKEN"),
  carrierSecretArn: () => optional("CARRIER_SECRET_ARN"),
  /** With a longer timeout, a call could outlive its step. */
  carrierTimeoutMs: () => wholeNumber("CARRIER_TIMEOUT_MS", 35_000),
  carrierMaxWaitSeconds: () => wholeNumber("CARRIER_MAX_WAIT_SECONDS"),
  malwareScan: () => optional("MALWARE_SCAN") !== undefined,
  eventBusName: () => required("EVENT_BUS_NAME"),
  deadLettersUrl: () => required("DEAD_LETTERS_URL"),
  stateMachineArn: () => required("STATE_MACHINE_ARN"),
  maxFileBytes: () => wholeNumber("MAX_FILE_BYTES"),
  maxUploadBytes: () => Math.min(wholeNumber("MAX_UPLOAD_BYTES"), limits.uploadBytes),
  logLevel: () => parseLogLevel(optional("LOG_LEVEL") ?? defaults.LOG_LEVEL),
  stackName: () => optional("STACK_NAME") ?? defaults.STACK_NAME,
  isDeployed: () => optional("AWS_LAMBDA_FUNCTION_NAME") !== undefined,
  traceId: () => optional("_X_AMZN_TRACE_ID"),
};
