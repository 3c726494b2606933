import { RemovalPolicy } from "aws-cdk-lib";
import { Architecture } from "aws-cdk-lib/aws-lambda";
import { RetentionDays } from "aws-cdk-lib/aws-logs";
import type { Node } from "constructs";
import * as z from "zod/mini";

const Context = z.object({
  /** `production` keeps its data whatever happens to the stack; `sandbox` leaves nothing behind. */
  stage: z._default(z.enum(["production", "sandbox"]), "production"),
  /** The machine that runs the functions: an emulator has its host's. */
  architecture: z._default(z.enum(["arm64", "x86_64"]), "arm64"),
  /** Where the carrier answers. The default answers nowhere (RFC 2606): checkouts fail until it is said. */
  carrierUrl: z._default(z.url(), "https://carrier.invalid"),
  /** Where a LocalStack-compatible endpoint answers, if that is what is deployed to. */
  emulator: z.optional(z.url()),
  /**
   * The role by which API Gateway writes logs, one for the region: this stack's own, which goes with it, or `existing`,
   * where another stack (production beside a sandbox) has set one already.
   */
  apiLogsRole: z._default(z.enum(["own", "existing"]), "own"),
  /** Who hears of alarms. */
  alarmEmail: z.optional(z.email()),
  /** A regional web ACL of the organisation's, put before the API. */
  webAclArn: z.optional(z.string()),
});

const stages = {
  production: { logRetention: RetentionDays.ONE_YEAR, throttle: { rate: 500, burst: 1000 } },
  sandbox: { logRetention: RetentionDays.ONE_WEEK, throttle: { rate: 100, burst: 200 } },
} as const;

/** All that differs from deployment to deployment: what `-c name=value` says, and what follows from the stage. */
export type Settings = ReturnType<typeof readSettings>;

/** Reads the context; throws where a value is none of those above. */
export const readSettings = (node: Node) => {
  const given = Object.keys(Context.shape).map((name) => [name, node.tryGetContext(name)] as const);
  const context = z.parse(Context, Object.fromEntries(given));
  const production = context.stage === "production";
  return {
    ...context,
    ...stages[context.stage],
    stackName: `Patchbay-${context.stage}`,
    production,
    /** Whether removing the stack removes the files first; emulators hang on the function that does. */
    emptyBucket: !production && !context.emulator,
    removalPolicy: production ? RemovalPolicy.RETAIN : RemovalPolicy.DESTROY,
    architecture: context.architecture === "arm64" ? Architecture.ARM_64 : Architecture.X86_64,
  };
};
