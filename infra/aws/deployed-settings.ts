import {
  type CloudFormationClient,
  CloudFormationServiceException,
  DescribeStacksCommand,
  GetTemplateCommand,
} from "@aws-sdk/client-cloudformation";
import * as z from "zod/mini";

/** The settings in the metadata of a deployed template: all explicit values, and the names of those from `-c`. */
export const SettingsRecord = z.object({
  retainData: z.boolean(),
  values: z.record(z.string(), z.unknown()),
  overridden: z.array(z.string()),
});
export type SettingsRecord = z.infer<typeof SettingsRecord>;

/** A string of JSON, because CloudFormation rejects null in a template. */
export const toMetadata = (record: SettingsRecord) => ({ Patchbay: { Settings: JSON.stringify(record) } });

const Template = z.object({ Metadata: z.object({ Patchbay: z.object({ Settings: z.string() }) }) });

/** Undefined if the template has no record. */
export const fromTemplate = (template: unknown): SettingsRecord | undefined => {
  const found = z.safeParse(Template, template).data;
  return found && z.parse(SettingsRecord, JSON.parse(found.Metadata.Patchbay.Settings));
};

/** The states of a stack whose creation failed. CDK deletes such a stack and creates it again. */
const neverWorked = /^(ROLLBACK_|REVIEW_IN_PROGRESS|DELETE_COMPLETE)/;

/** Undefined if the stack does not exist, or its creation has failed. */
export const deployedStack = async (client: CloudFormationClient, stackName: string) => {
  try {
    const { Stacks: [stack] = [] } = await client.send(new DescribeStacksCommand({ StackName: stackName }));
    if (!stack || neverWorked.test(stack.StackStatus ?? "")) return undefined;
    const { TemplateBody = "{}" } = await client.send(new GetTemplateCommand({ StackName: stackName }));
    return { record: fromTemplate(JSON.parse(TemplateBody)) };
  } catch (error) {
    // CloudFormation has no error code for this, only the message "Stack with id … does not exist".
    if (error instanceof CloudFormationServiceException && /does not exist/.test(error.message)) return undefined;
    throw error;
  }
};

const isNone = (value: unknown) => value === null || value === undefined;

/**
 * The settings of the deployed stack that a new deployment would silently drop: they are no longer in the stage's file, or
 * came from `-c` and are not passed again. A changed value in the file, and `-c <name>=`, are deliberate.
 */
export const droppedSettings = (deployed: SettingsRecord, next: SettingsRecord): readonly string[] =>
  Object.entries(deployed.values)
    .filter(([name, value]) => !isNone(value) && value !== next.values[name])
    .map(([name]) => name)
    .filter((name) => !next.overridden.includes(name))
    .filter((name) => deployed.overridden.includes(name) || !(name in next.values));

export const explainDropped = (stage: string, deployed: SettingsRecord, names: readonly string[]): string =>
  [
    "This deployment would drop settings of the deployed stack:",
    ...names.map((name) => `  ${name} = ${deployed.values[name]}`),
    `To keep a setting, add it to infra/aws/stages/${stage}.json, or pass it again with -c <name>=<value>.`,
    "To drop it, pass -c <name>= without a value, or pass the value in the stage's file.",
  ].join("\n");
