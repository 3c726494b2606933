import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { RemovalPolicy } from "aws-cdk-lib";
import { Architecture } from "aws-cdk-lib/aws-lambda";
import { RetentionDays } from "aws-cdk-lib/aws-logs";
import * as z from "zod/mini";
import { carrierNames, limits } from "../../shared/limits.ts";

const matching = (pattern: RegExp, error?: string) => z.string().check(z.regex(pattern, { ...(error && { error }) }));

const Origin = matching(/^https?:\/\/[\w.-]+(:\d+)?$/, "must be an origin: https://<host>");

const functionName = /^(arn:[\w-]+:lambda:[\w-]+:\d{12}:function:)?[\w-]{1,64}(:[\w$-]+)?$/;

/** WAF's lowest limit is 10. */
const requestLimit = z.int().check(z.minimum(10));

const positive = z.int().check(z.positive());

/** A setting that may be `null`, which is the default. */
const orNone = <T extends z.core.$ZodType>(schema: T) => z._default(z.nullable(schema), null);

/** A stage's file. The defaults are those of a sandbox. */
export const Stage = z
  .strictObject({
    account: orNone(matching(/^\d{12}$/, "must be the 12 digits of an AWS account")),
    region: orNone(matching(/^[a-z]+(-[a-z]+)+-\d$/, "must be a region, such as us-east-1")),
    retainData: z._default(z.boolean(), false),
    carrierUrl: orNone(
      z
        .url({ protocol: /^https?$/, error: "must be an https: or http: URL" })
        .check(z.regex(/^[^?#]*$/, { error: "must have no query and no fragment, because paths are appended to it" })),
    ),
    carrierFunction: orNone(matching(functionName, "must be the name or the ARN of a function")),
    carrierName: orNone(matching(carrierNames, "must be a name of 1 to 64 characters")),
    pageEmail: orNone(z.email()),
    ticketEmail: orNone(z.email()),
    webAclArn: orNone(z.string().check(z.startsWith("arn:"))),
    requestsPerKey: orNone(requestLimit),
    requestsPerAddress: orNone(requestLimit),
    requestsInTotal: orNone(requestLimit),
    domainName: orNone(matching(/^[a-z0-9-]+(\.[a-z0-9-]+)+$/)),
    certificateArn: orNone(z.string().check(z.startsWith("arn:"))),
    rollout: z._default(z.enum(["all-at-once", "canary"]), "all-at-once"),
    restoredTable: orNone(matching(/^[\w.-]{3,255}$/)),
    eventArchiveDays: orNone(positive),
    uploadOrigins: orNone(z.array(Origin)),
    malwareScan: z._default(z.union([z.boolean(), z.literal("tag")]), false),
    orderingConditions: z._default(z.boolean(), true),
    apiLogsRole: z._default(z.enum(["own", "existing"]), "own"),
    architecture: z._default(z.enum(["arm64", "x86_64"]), "arm64"),
    throttleRate: z._default(z.number().check(z.nonnegative()), 100),
    throttleBurst: z._default(positive, 200),
    carrierConcurrency: orNone(positive),
    maxReadUnits: orNone(positive),
    maxWriteUnits: orNone(positive),
    logRetentionDays: z._default(z.enum(RetentionDays), RetentionDays.ONE_WEEK),
    logLevel: z._default(z.enum(["INFO", "WARN", "ERROR"]), "INFO"),
    accessLogs: z._default(z.boolean(), true),
    tracing: z._default(z.boolean(), true),
    tags: z._default(z.record(z.string(), z.string()), {}),
    maxFileBytes: z._default(positive.check(z.maximum(limits.fileBytes)), limits.fileBytes),
    maxUploadBytes: z._default(positive.check(z.maximum(limits.uploadBytes)), limits.uploadBytes),
  })
  .check(
    z.refine(
      ({ retainData, carrierUrl, carrierFunction }) =>
        !retainData || carrierFunction || carrierUrl?.startsWith("https:"),
      { path: ["carrierUrl"], error: "must be an https: URL, because this stage retains its data" },
    ),
    z.refine(({ carrierUrl, carrierFunction }) => !carrierUrl || !carrierFunction, {
      path: ["carrierFunction"],
      error: "must be null, because carrierUrl is set: a stage has one of them",
    }),
    z.refine(
      ({ carrierUrl, carrierFunction, carrierName }) => carrierName !== null || !(carrierUrl ?? carrierFunction),
      {
        path: ["carrierName"],
        error: "must name the carrier, because this stage has one",
      },
    ),
    z.refine(({ domainName, certificateArn }) => !domainName === !certificateArn, {
      path: ["certificateArn"],
      error: "must be set together with domainName",
    }),
    z.refine(
      (stage) =>
        !stage.webAclArn || (stage.requestsPerKey ?? stage.requestsPerAddress ?? stage.requestsInTotal) === null,
      {
        path: ["webAclArn"],
        error: "must be null, because this stage has limits of its own: an API has one web ACL",
      },
    ),
  );

/** The meaning of each setting. `npm run tables` writes it, the default and production's value into infra/README.md. */
export const settingDescriptions = {
  account: "the only AWS account to deploy to",
  region: "the only region to deploy to",
  retainData: "retains data and logs when the stack is deleted, and protects the stack and the table from deletion",
  carrierUrl: "the carrier's base address, `https:` for a stage that retains its data",
  carrierFunction:
    "instead of `carrierUrl`: an [adapter function](../docs/carrier.md#an-adapter-function) in this region, by its name or ARN",
  carrierName:
    "the carrier's name, which stays when its address changes. Required with `carrierUrl` or `carrierFunction`",
  pageEmail:
    "the address for alarms that cannot wait. Without it and `ticketEmail`, a sandbox has no alarms and no dashboard",
  ticketEmail: "the address for alarms that can wait",
  webAclArn: "your own regional web ACL, instead of [the next three](./runbook.md#the-firewall)",
  requestsPerKey: "the requests that an API key may send in five minutes, at least 10. Creates a web ACL",
  requestsPerAddress: "the same for an address",
  requestsInTotal: "the same for all callers: 150,000 means 500 a second",
  domainName: "the API's own name: see below",
  certificateArn: "the ACM certificate of `domainName`",
  rollout: "how traffic moves to [new versions](./runbook.md#releases)",
  restoredTable: "the name of a [restored](./runbook.md#restore) table, which becomes the stack's",
  eventArchiveDays: "how long EventBridge keeps events, to send them again",
  uploadOrigins: 'origins (`"https://app.example"`) whose web pages may send files directly to the bucket',
  malwareScan: '`"tag"` [scans](./runbook.md#the-malware-scan) each file; `true` also forwards only clean ones',
  orderingConditions:
    "whether the role of the ordering function allows by partition; if `false`, by action only: see [the first day](#the-first-day)",
  apiLogsRole:
    'the role with which API Gateway writes all logs of the region: `"own"`, which outlives this stack, or `"existing"`',
  architecture: 'of the functions: `"arm64"` or `"x86_64"`',
  throttleRate: "requests a second to each method. 0 stops all, for a [maintenance](./runbook.md#maintenance)",
  throttleBurst: "the burst above `throttleRate`",
  carrierConcurrency:
    "the concurrency of each step that calls the carrier, so that a slow carrier leaves the rest to the API",
  maxReadUnits: "the most read units a second: 12,000 cost $5.40 an hour",
  maxWriteUnits: "the same for write units: 8,000 cost $18 an hour",
  logRetentionDays: "for every log group",
  logLevel: '`"WARN"` or `"ERROR"` drops the lines of requests and steps, with their metric `ms`',
  accessLogs: "the gateway's access logs",
  tracing: "X-Ray, of 5 % of the requests",
  tags: "for every resource, in addition to `Application` and `Stage`",
  maxFileBytes: "the largest file in a form; the default is the maximum",
  maxUploadBytes: "the largest file of a direct upload; the default is the maximum",
} as const satisfies Record<keyof z.infer<typeof Stage>, string>;

const Choice = z.strictObject({
  stage: z._default(z.string(), "sandbox"),
  name: z.optional(matching(/^[A-Za-z][A-Za-z0-9-]{0,30}$/)),
});

/** The settings of a deployment, which are those in the stage's file, and values derived from them. */
export type Settings = ReturnType<typeof readSettings>;

const unsupportedByEmulators = {
  account: null,
  region: null,
  rollout: "all-at-once",
  domainName: null,
  certificateArn: null,
  malwareScan: false,
  webAclArn: null,
  requestsPerKey: null,
  requestsPerAddress: null,
  requestsInTotal: null,
} as const;

const folder = join(import.meta.dirname, "stages");

/**
 * Reads the stage that the context names, by default the sandbox. If `emulator` is the address of one, the settings that emulators do
 * not support have their defaults. Throws an error of one line if a setting or an option of `-c` is invalid or unknown.
 */
export const readSettings = (context: Readonly<Record<string, unknown>>, emulator: string | undefined) => {
  // Excludes CDK's own context, whose names contain colons or hyphens.
  const options = Object.fromEntries(Object.entries(context).filter(([option]) => /^\w+$/.test(option)));
  const { stage, name } = parse(Choice, options, "-c chooses only stage and name; settings are in the stage's file");
  const stages = readdirSync(folder).map((each) => basename(each, ".json"));
  const file = stages.includes(stage) ? join(folder, `${stage}.json`) : stage;
  if (!existsSync(file)) {
    const choices = stages.map((each) => `-c stage=${each}`).join(", ");
    throw new Error(`There is no stage ${stage}. Choose ${choices} or -c stage=<path of a JSON file>.`);
  }
  const values = parse(Stage, readStage(file), file);
  const stageName = basename(file, ".json");
  const stackName = ["Patchbay", stageName.replaceAll(/[^A-Za-z0-9]+/g, "-"), name].filter(Boolean).join("-");
  // The name of the state machine, which has at most 80 characters, ends with "-checkout".
  if (stackName.length > 71)
    throw new Error(`The stack's name has ${stackName.length} characters, and may have 71: ${stackName}.`);
  // Retained resources are deleted only if the creation of the stack fails.
  const removalPolicy = values.retainData ? RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE : RemovalPolicy.DESTROY;
  return {
    ...values,
    stageName,
    removalPolicy,
    logs: { retention: values.logRetentionDays, removalPolicy },
    ...(emulator && unsupportedByEmulators),
    // With a rate of 0, the burst would still be allowed.
    throttleBurst: values.throttleRate === 0 ? 0 : values.throttleBurst,
    /** A sandbox needs no carrier until it checks out an order. */
    carrierUrl: values.carrierUrl ?? (values.carrierFunction ? null : "https://carrier.invalid"),
    carrierName: values.carrierName ?? "none",
    stackName,
    emulator,
    /** Whether deleting the stack empties the bucket first. The function that does so hangs on emulators. */
    emptyBucket: !values.retainData && !emulator,
    // On an emulator, the functions run on this machine, or in containers of its architecture.
    architecture:
      (emulator ? process.arch : values.architecture) === "arm64" ? Architecture.ARM_64 : Architecture.X86_64,
  };
};

const readStage = (file: string): unknown => {
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch (error) {
    // The message of a syntax error quotes lines of the file.
    throw new Error(`${file}: ${String(error).replaceAll(/\s+/g, " ")}`, { cause: error });
  }
};

/** Parses a value. The error lists all problems in one line. */
const parse = <T extends z.core.$ZodType>(schema: T, value: unknown, subject: string): z.infer<T> => {
  const { data, error } = z.safeParse(schema, value, { error: z.locales.en().localeError });
  if (!error) return data;
  throw new Error(`${subject}: ${error.issues.map(({ path, message }) => [...path, message].join(": ")).join("; ")}`);
};
