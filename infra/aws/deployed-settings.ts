import {
  type CloudFormationClient,
  CloudFormationServiceException,
  DescribeStacksCommand,
  GetTemplateCommand,
} from "@aws-sdk/client-cloudformation";
import * as z from "zod/mini";

/** The settings of a deployment as its template's metadata keeps them: what was stated, and which of it by `-c`. */
export const SettingsRecord = z.object({
  retainData: z.boolean(),
  values: z.record(z.string(), z.unknown()),
  overridden: z.array(z.string()),
});
export type SettingsRecord = z.infer<typeof SettingsRecord>;

/** As JSON in a string: CloudFormation refuses null in a template. */
export const toMetadata = (record: SettingsRecord) => ({ Patchbay: { Settings: JSON.stringify(record) } });

const Template = z.object({ Metadata: z.object({ Patchbay: z.object({ Settings: z.string() }) }) });

/** The record in a template; undefined in one that has none. */
export const fromTemplate = (template: unknown): SettingsRecord | undefined => {
  const found = z.safeParse(Template, template).data;
  return found && z.parse(SettingsRecord, JSON.parse(found.Metadata.Patchbay.Settings));
};

/** A stack whose creation failed: CDK deletes it and creates it again. */
const neverWorked = /^(ROLLBACK_|REVIEW_IN_PROGRESS|DELETE_COMPLETE)/;

/** The deployed stack; undefined where there is none, or one that has never worked. `record` is undefined in one without. */
export const deployedStack = async (client: CloudFormationClient, stackName: string) => {
  try {
    const { Stacks: [stack] = [] } = await client.send(new DescribeStacksCommand({ StackName: stackName }));
    if (!stack || neverWorked.test(stack.StackStatus ?? "")) return undefined;
    const { TemplateBody = "{}" } = await client.send(new GetTemplateCommand({ StackName: stackName }));
    return { record: fromTemplate(JSON.parse(TemplateBody)) };
  } catch (error) {
    // CloudFormation has no better name for it: "Stack with id … does not exist".
    if (error instanceof CloudFormationServiceException && /does not exist/.test(error.message)) return undefined;
    throw error;
  }
};

const isNone = (value: unknown) => value === null || value === undefined;

/**
 * The settings that the deployed stack has and a new deployment would drop without saying so: the stage's file no
 * longer has them, or they came from `-c` and are not passed again. A file that changes a value, and `-c <name>=`,
 * are deliberate.
 */
export const droppedSettings = (deployed: SettingsRecord, next: SettingsRecord): readonly string[] =>
  Object.entries(deployed.values)
    .filter(([name, value]) => !isNone(value) && value !== next.values[name])
    .map(([name]) => name)
    .filter((name) => !next.overridden.includes(name))
    .filter((name) => deployed.overridden.includes(name) || !(name in next.values));

/** The message for the operator who would drop them. */
export const explainDropped = (stage: string, deployed: SettingsRecord, names: readonly string[]): string =>
  [
    "This deployment would drop settings that the deployed stack has:",
    ...names.map((name) => `  ${name} = ${deployed.values[name]}`),
    `Keep one: put it into infra/aws/stages/${stage}.json, or pass it again with -c <name>=<value>.`,
    "Drop one on purpose: pass -c <name>= without a value, or the value of the stage's file.",
  ].join("\n");
