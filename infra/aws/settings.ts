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

/** The settings in a stage's file, which `-c <name>=<value>` overrides. `null`, or `-c <name>=`, means "none". */
const Values = z.strictObject({
  /** The carrier's base address. */
  carrierUrl: z._default(z.nullable(z.url()), null),
  /** The address that alarms are sent to. */
  alarmEmail: z._default(z.nullable(z.email()), null),
  /** A regional web ACL of the organization, associated with the API. */
  webAclArn: z._default(z.nullable(z.string().check(z.startsWith("arn:"))), null),
  /** A table restored from a backup, used in place of the stack's own table, which leaves the stack but is retained. */
  restoredTable: z._default(z.nullable(z.string().check(z.regex(/^[\w.-]{3,255}$/))), null),
  /**
   * API Gateway writes the logs of a region with one role. `own`: this stack creates the role, and never deletes it.
   * `existing`: the region already has one.
   */
  apiLogsRole: z.enum(["own", "existing"]),
  architecture: z.enum(["arm64", "x86_64"]),
  /** Requests per second that the API accepts, and how many at once. */
  throttleRate: z.coerce.number().check(z.positive()),
  throttleBurst: z.coerce.number().check(z.positive()),
  /**
   * How many copies of each of the two steps that call the carrier may run at once, so that a carrier that does not respond
   * leaves concurrency to the API. Lambda reserves it, and keeps at least 100 of the account's concurrency unreserved.
   */
  carrierConcurrency: z._default(z.nullable(z.coerce.number().check(z.int(), z.positive())), null),
  /** A number of days that CloudWatch Logs supports: 7, 30, 365 … */
  logRetentionDays: z.coerce.number().check(z.positive()),
  /** The largest file in a form. The default is the largest that fits into a function's event. */
  maxFileBytes: z._default(z.coerce.number().check(z.positive(), z.maximum(limits.fileBytes)), limits.fileBytes),
  /** The largest file of a direct upload. */
  maxUploadBytes: z._default(z.coerce.number().check(z.positive(), z.maximum(limits.uploadBytes)), limits.uploadBytes),
  /** The origins of web pages that may send files directly to the bucket. With `-c`, separated by commas. */
  uploadOrigins: z._default(z.nullable(z.union([z.array(Origin), commaSeparated(Origin)])), null),
});
type Values = z.infer<typeof Values>;

/** Values that can be set only in the context. */
const Target = z.object({
  stage: z.string({ error: noStage }),
  /** Distinguishes several stacks of a stage in an account and region. */
  name: z.optional(z.string().check(z.regex(/^[A-Za-z][A-Za-z0-9-]{0,30}$/))),
  /** The endpoint of the emulator, in a deployment to one. */
  emulator: z.optional(z.url()),
  /** `false` while a stack is created, because CloudFormation cannot roll back a table that is protected from deletion. */
  protectTable: z._default(z.enum(["true", "false"]), "true"),
});

/** The settings of a deployment, from the stage's file and the context, and values derived from them. */
export type Settings = ReturnType<typeof readSettings>;

/** Throws if a setting is missing, invalid or unknown. */
export const readSettings = (node: Node) => {
  const target = z.parse(Target, contextOf(node, Object.keys(Target.shape)));
  const { retainData, ...file } = readStage(target.stage);
  const overrides = contextOf(node, Object.keys(Values.shape));
  const explicit = { ...file, ...overrides };
  const values = z.parse(Values, explicit);
  return {
    ...target,
    ...values,
    carrierUrl: carrierUrl(target.stage, retainData, values),
    stackName: stackNameOf(target.stage, target.name),
    retainData,
    /** A later deployment is compared with this: see deployed-settings.ts. */
    record: {
      retainData,
      values: Object.fromEntries(Object.entries(values).filter(([name]) => name in explicit)),
      overridden: Object.keys(overrides),
    } satisfies SettingsRecord,
    /** Whether deleting the stack empties the bucket first. The function that does so hangs on emulators. */
    emptyBucket: !retainData && !target.emulator,
    /** A first deployment that fails leaves nothing behind. After that, data are retained. */
    removalPolicy: retainData ? RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE : RemovalPolicy.DESTROY,
    architecture: values.architecture === "arm64" ? Architecture.ARM_64 : Architecture.X86_64,
    // CloudFormation validates the number of days.
    logRetention: values.logRetentionDays satisfies RetentionDays,
  };
};

/** Reads values from the context. `-c name=` is null. */
const contextOf = (node: Node, names: readonly string[]): Record<string, unknown> => {
  const given = names.map((name) => [name, node.tryGetContext(name)] as const);
  return Object.fromEntries(
    given.filter(([, value]) => value !== undefined).map(([name, value]) => [name, value === "" ? null : value]),
  );
};

const carrierUrl = (stage: string, retainData: boolean, { carrierUrl: url }: Values): string => {
  const expected = retainData ? "an https: URL" : "a URL";
  if (!url || (retainData && !url.startsWith("https:")))
    throw new Error(
      `${stage} needs ${expected} for the carrier: set carrierUrl in infra/aws/stages/${stage}.json, or pass -c carrierUrl=https://….`,
    );
  return url;
};
