import { isDeepStrictEqual } from "node:util";
import { type CloudFormationClient, GetTemplateCommand } from "@aws-sdk/client-cloudformation";
import * as z from "zod/mini";
import { describeStack } from "./deployed-stack.ts";

/** The settings in the metadata of a deployed template: all explicit values, and the names of those from `-c`. */
export const SettingsRecord = z.object({
  retainData: z.boolean(),
  values: z.record(z.string(), z.unknown()),
  overridden: z.array(z.string()),
});
export type SettingsRecord = z.infer<typeof SettingsRecord>;

/** What a deployment is compared by. */
type Recorded = Pick<SettingsRecord, "values" | "overridden">;

/** A string of JSON, because CloudFormation rejects null in a template. */
export const toMetadata = (record: SettingsRecord) => ({ Patchbay: { Settings: JSON.stringify(record) } });

const Template = z.object({ Metadata: z.object({ Patchbay: z.object({ Settings: z.string() }) }) });

/** Undefined if the template has no record. */
export const fromTemplate = (template: unknown): SettingsRecord | undefined => {
  const found = z.safeParse(Template, template).data;
  return found && z.parse(SettingsRecord, JSON.parse(found.Metadata.Patchbay.Settings));
};

const functionWith = <T extends z.core.$ZodType>(properties: T) =>
  z.object({ Type: z.literal("AWS::Lambda::Function"), Properties: properties });
const CarrierFunction = functionWith(
  z.object({ Environment: z.object({ Variables: z.object({ CARRIER_URL: z.string() }) }) }),
);
const AnyFunction = functionWith(z.object({ Architectures: z.tuple([z.string()]) }));
const Subscription = z.object({
  Type: z.literal("AWS::SNS::Subscription"),
  Properties: z.object({ Endpoint: z.string() }),
});
const WebAcl = z.object({
  Type: z.literal("AWS::WAFv2::WebACLAssociation"),
  Properties: z.object({ WebACLArn: z.string() }),
});
const ApiLogs = z.object({ Type: z.literal("AWS::ApiGateway::Account") });
const Resources = z.object({ Resources: z._default(z.record(z.string(), z.unknown()), {}) });

/** The carrier's address in an earlier version if none was given. */
const noCarrier = "https://carrier.invalid";

/** Earlier versions recorded no settings. Their resources show what came from `-c`. */
const fromResources = (template: unknown): Recorded => {
  const resources = Object.values(z.parse(Resources, template).Resources);
  const find = <T extends z.core.$ZodType>(schema: T) =>
    resources.map((resource) => z.safeParse(schema, resource).data).find((data) => data !== undefined);
  const carrierUrl = find(CarrierFunction)?.Properties.Environment.Variables.CARRIER_URL;
  const found = {
    carrierUrl: carrierUrl === noCarrier ? undefined : carrierUrl,
    alarmEmail: find(Subscription)?.Properties.Endpoint,
    webAclArn: find(WebAcl)?.Properties.WebACLArn,
    architecture: find(AnyFunction)?.Properties.Architectures[0],
    apiLogsRole: find(ApiLogs) && "own",
  };
  const values = Object.fromEntries(Object.entries(found).filter(([, value]) => value !== undefined));
  return { values, overridden: Object.keys(values) };
};

/** The settings of a deployed template. */
export const settingsOf = (template: unknown): Recorded => fromTemplate(template) ?? fromResources(template);

/** The states of a stack whose creation failed. CDK deletes such a stack and creates it again. */
const neverWorked = /^(ROLLBACK_|REVIEW_IN_PROGRESS|DELETE_COMPLETE)/;

/** The settings of a deployed stack. Undefined if the stack does not exist, or its creation has failed. */
export const deployedSettings = async (
  client: CloudFormationClient,
  stackName: string,
): Promise<Recorded | undefined> => {
  const stack = await describeStack(stackName, client);
  if (!stack || neverWorked.test(stack.status)) return undefined;
  const { TemplateBody = "{}" } = await client.send(new GetTemplateCommand({ StackName: stackName }));
  return settingsOf(JSON.parse(TemplateBody));
};

const isNone = (value: unknown) => value === null || value === undefined;

/**
 * The settings of the deployed stack that a new deployment would silently drop: they are no longer in the stage's file, or
 * came from `-c` and are not passed again. A changed value in the file, and `-c <name>=`, are deliberate.
 */
export const droppedSettings = (deployed: Recorded, next: Recorded): readonly string[] =>
  Object.entries(deployed.values)
    .filter(([name, value]) => !isNone(value) && !isDeepStrictEqual(value, next.values[name]))
    .map(([name]) => name)
    .filter((name) => !next.overridden.includes(name))
    .filter((name) => deployed.overridden.includes(name) || !(name in next.values));

export const explainDropped = (stage: string, deployed: Recorded, names: readonly string[]): string =>
  [
    "This deployment would drop settings of the deployed stack:",
    ...names.map((name) => `  ${name} = ${deployed.values[name]}`),
    `To keep a setting, add it to infra/aws/stages/${stage}.json, or pass it again with -c <name>=<value>.`,
    "To drop it, pass -c <name>= without a value, or pass the value in the stage's file.",
  ].join("\n");
