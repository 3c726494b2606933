import type { Template } from "aws-cdk-lib/assertions";

type Statement = {
  readonly Action: string | readonly string[];
  readonly Effect: string;
  readonly Resource: unknown;
  readonly Condition?: unknown;
};
type Policy = { readonly PolicyDocument: { readonly Statement: readonly Statement[] } };

/** A short, readable form of a resource in the template. */
const shortened = (resource: unknown): string =>
  JSON.stringify(resource)
    .replaceAll(/\{"Fn::GetAtt":\["([A-Za-z-]+?)[0-9A-F]{8}","Arn"\]\}|\{"Ref":"([A-Za-z-]+?)[0-9A-F]{8}"\}/g, "$1$2")
    .replaceAll(/\{"Fn::Join":\["",\[(.*?)\]\]\}/g, (_, parts: string) => parts.replaceAll(/[",]/g, ""))
    .replaceAll('"', "");

/** " via s3" for a condition on that service, " where …" for any other. */
const condition = (value: unknown): string => {
  if (value === undefined) return "";
  const service = /^\{StringEquals:\{kms:ViaService:(\w+)\./.exec(shortened(value))?.[1];
  return service ? ` via ${service}` : ` where ${shortened(value)}`;
};

/** The permissions in policies, as "action on resource". */
const actionsIn = (policies: readonly Policy[]): string[] =>
  policies
    .flatMap(({ PolicyDocument }) => PolicyDocument.Statement)
    .flatMap(({ Action, Effect, Resource, Condition }) => {
      if (Effect !== "Allow") throw new Error(`A role's statement is to ${Effect}.`);
      const resources = [Resource].flat().map((each) => `${shortened(each)}${condition(Condition)}`);
      return [Action].flat().flatMap((action) => resources.map((each) => `${action} on ${each}`));
    });

const nameOf = (id: string, description?: string) => (description ?? id).replace("Patchbay: ", "");

/** The permissions of every managed policy, by its description. */
export const managedPermissionsOf = (template: Template): Record<string, string[]> =>
  Object.fromEntries(
    Object.entries(template.findResources("AWS::IAM::ManagedPolicy")).map(([id, { Properties }]) => [
      nameOf(id, Properties.Description),
      actionsIn([Properties]).sort(),
    ]),
  );

/** The permissions of every role, by its description or name, as "action on resource", and its managed policies. */
export const permissionsOf = (template: Template): Record<string, string[]> => {
  const attached = Object.values(template.findResources("AWS::IAM::Policy")).map(({ Properties }) => Properties);
  return Object.fromEntries(
    Object.entries(template.findResources("AWS::IAM::Role")).map(([id, { Properties }]) => {
      const { Description, Policies = [], ManagedPolicyArns = [] } = Properties;
      const others = attached.filter(({ Roles }) => Roles.some(({ Ref }: { Ref: string }) => Ref === id));
      return [
        nameOf(id, Description),
        [...actionsIn([...Policies, ...others]), ...ManagedPolicyArns.map(shortened)].sort(),
      ];
    }),
  );
};
