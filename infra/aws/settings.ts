import { RemovalPolicy } from "aws-cdk-lib";
import { Architecture } from "aws-cdk-lib/aws-lambda";
import type { RetentionDays } from "aws-cdk-lib/aws-logs";
import type { Node } from "constructs";
import * as z from "zod/mini";
import { limits } from "../../shared/limits.ts";
import type { SettingsRecord } from "./deployed-settings.ts";
import { noStage, readStage, stackNameOf } from "./stages.ts";

/** `https://<host>`, without a path. */
const Origin = z.string().check(z.regex(/^https?:\/\/[\w.-]+(:\d+)?$/, { error: "must be an origin: https://<host>" }));

const commaSeparated = <T extends z.core.$ZodType<unknown, string>>(each: T) =>
  z.pipe(
    z.string(),
    z.pipe(
      z.transform((text: string) => text.split(",").map((part) => part.trim())),
      z.array(each),
    ),
  );

/** What a stage's file sets, and `-c <name>=<value>` overrides. `null`, or `-c <name>=`, is an explicit "none". */
const Values = z.strictObject({
  /** The carrier's base address. */
  carrierUrl: z._default(z.nullable(z.url()), null),
  /** The address that alarms are sent to. */
  alarmEmail: z._default(z.nullable(z.email()), null),
  /** A regional web ACL of the organization, associated with the API. */
  webAclArn: z._default(z.nullable(z.string().check(z.startsWith("arn:"))), null),
  /** A table restored from a backup, to use in place of the stack's own, which it lets go and retains. */
  restoredTable: z._default(z.nullable(z.string().check(z.regex(/^[\w.-]{3,255}$/))), null),
  /**
   * API Gateway writes logs by one role for the whole region. `own`: this stack creates that role, and never deletes it.
   * `existing`: the region has one.
   */
  apiLogsRole: z.enum(["own", "existing"]),
  architecture: z.enum(["arm64", "x86_64"]),
  /** Requests per second that the API accepts, and how many at once. */
  throttleRate: z.coerce.number().check(z.positive()),
  throttleBurst: z.coerce.number().check(z.positive()),
  /** A number of days that CloudWatch Logs knows: 7, 30, 365 … */
  logRetentionDays: z.coerce.number().check(z.positive()),
  /** The largest file of an upload. A function's event carries no larger one than the default. */
  maxFileBytes: z._default(z.coerce.number().check(z.positive(), z.maximum(limits.fileBytes)), limits.fileBytes),
  /** The largest file of a direct upload, which no function carries. */
  maxUploadBytes: z._default(z.coerce.number().check(z.positive(), z.maximum(limits.uploadBytes)), limits.uploadBytes),
  /** The origins of web pages whose scripts may send files to the bucket directly; with `-c`, with commas between them. */
  uploadOrigins: z._default(z.nullable(z.union([z.array(Origin), commaSeparated(Origin)])), null),
});
type Values = z.infer<typeof Values>;

/** Values that come from the context only. */
const Target = z.object({
  stage: z.string({ error: noStage }),
  /** A name of its own, for more than one stack of a stage in an account and region. */
  name: z.optional(z.string().check(z.regex(/^[A-Za-z][A-Za-z0-9-]{0,30}$/))),
  /** The LocalStack-compatible endpoint that is deployed to, if it is one. */
  emulator: z.optional(z.url()),
  /** `false` while a stack is created: CloudFormation cannot roll back a table that is protected from deletion. */
  protectTable: z._default(z.enum(["true", "false"]), "true"),
});

/** The settings of one deployment: the stage's file, with what the context overrides, and what follows from both. */
export type Settings = ReturnType<typeof readSettings>;

/** Reads the context and the stage's file; throws where a value is missing or unknown. */
export const readSettings = (node: Node) => {
  const target = z.parse(Target, contextOf(node, Object.keys(Target.shape)));
  const { retainData, ...file } = readStage(target.stage);
  const overrides = contextOf(node, Object.keys(Values.shape));
  const stated = { ...file, ...overrides };
  const values = z.parse(Values, stated);
  return {
    ...target,
    ...values,
    carrierUrl: carrierUrl(target.stage, retainData, values),
    stackName: stackNameOf(target.stage, target.name),
    retainData,
    /** What a later deployment is compared with: see deployed-settings.ts. */
    record: {
      retainData,
      values: Object.fromEntries(Object.entries(values).filter(([name]) => name in stated)),
      overridden: Object.keys(overrides),
    } satisfies SettingsRecord,
    /** Whether deleting the stack deletes the files first; emulators hang on the function that does. */
    emptyBucket: !retainData && !target.emulator,
    /** A first deployment that fails leaves nothing behind; a stack that worked once keeps its data. */
    removalPolicy: retainData ? RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE : RemovalPolicy.DESTROY,
    architecture: values.architecture === "arm64" ? Architecture.ARM_64 : Architecture.X86_64,
    // CloudFormation knows which numbers of days there are.
    logRetention: values.logRetentionDays satisfies RetentionDays,
  };
};

/** What the context says: `-c name=` is an explicit null. */
const contextOf = (node: Node, names: readonly string[]): Record<string, unknown> => {
  const given = names.map((name) => [name, node.tryGetContext(name)] as const);
  return Object.fromEntries(
    given.filter(([, value]) => value !== undefined).map(([name, value]) => [name, value === "" ? null : value]),
  );
};

const carrierUrl = (stage: string, retainData: boolean, { carrierUrl: url }: Values): string => {
  const wanted = retainData ? "an https: URL" : "a URL";
  if (!url || (retainData && !url.startsWith("https:")))
    throw new Error(
      `${stage} needs ${wanted} of the carrier: set carrierUrl in infra/aws/stages/${stage}.json, or pass -c carrierUrl=https://….`,
    );
  return url;
};
