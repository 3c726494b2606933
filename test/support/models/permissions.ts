import type { Template } from "aws-cdk-lib/assertions";
import * as z from "zod/mini";

const OneOrMore = z.union([z.string(), z.array(z.string())]);
const Statement = z.object({
  Action: OneOrMore,
  Effect: z.literal("Allow"),
  Resource: z.unknown(),
  Condition: z.optional(z.unknown()),
});
const Document = z.object({ Statement: z.array(Statement) });
const Inline = z.object({ PolicyDocument: Document });
const Role = z.object({
  Properties: z.object({
    Description: z.optional(z.string()),
    Policies: z._default(z.array(Inline), []),
    ManagedPolicyArns: z._default(z.array(z.unknown()), []),
  }),
});
const Policy = z.object({
  Properties: z.object({ PolicyDocument: Document, Roles: z.array(z.object({ Ref: z.string() })) }),
});

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

type Documents = readonly { readonly PolicyDocument: z.infer<typeof Document> }[];

/** The permissions in policy documents, as "action on resource". */
const actionsIn = (documents: Documents): string[] =>
  documents
    .flatMap(({ PolicyDocument }) => PolicyDocument.Statement)
    .flatMap(({ Action, Resource, Condition }) =>
      [Action]
        .flat()
        .flatMap((action) => [Resource].flat().map((each) => `${action} on ${shortened(each)}${condition(Condition)}`)),
    );

const nameOf = (id: string, description?: string) => (description ?? id).replace("Patchbay: ", "");

const Managed = z.object({ Properties: z.object({ Description: z.string(), PolicyDocument: Document }) });

/** The permissions of every managed policy, by its description. */
export const managedPermissionsOf = (template: Template): Record<string, string[]> =>
  Object.fromEntries(
    Object.entries(template.findResources("AWS::IAM::ManagedPolicy")).map(([id, resource]) => {
      const { Properties } = z.parse(Managed, resource);
      return [nameOf(id, Properties.Description), actionsIn([Properties]).sort()];
    }),
  );

/** The permissions of every role, by its description or name, as "action on resource", and its managed policies. */
export const permissionsOf = (template: Template): Record<string, string[]> => {
  const attached = Object.values(template.findResources("AWS::IAM::Policy")).map((each) => z.parse(Policy, each));
  return Object.fromEntries(
    Object.entries(template.findResources("AWS::IAM::Role")).flatMap(([id, resource]) => {
      const { Description, Policies, ManagedPolicyArns } = z.parse(Role, resource).Properties;
      const others = attached.filter(({ Properties: { Roles } }) => Roles.some(({ Ref }) => Ref === id));
      const documents = [...Policies, ...others.map(({ Properties }) => Properties)];
      return [[nameOf(id, Description), [...actionsIn(documents), ...ManagedPolicyArns.map(shortened)].sort()]];
    }),
  );
};
