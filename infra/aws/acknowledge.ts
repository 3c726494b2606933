import { CfnElement, Stack, Validations } from "aws-cdk-lib";
import type { IConstruct } from "constructs";

/** Acknowledges cdk-nag findings on a construct and its children. Give a reason that convinces a security engineer. */
export const acknowledge = (construct: IConstruct, reasons: Readonly<Record<string, string>>): void => {
  for (const [id, reason] of Object.entries(reasons)) Validations.of(construct).acknowledge({ id, reason });
};

/** The name of a resource in the template, which cdk-nag uses in its findings. */
export const logicalId = (construct: IConstruct): string => {
  const element = construct.node.defaultChild;
  if (!element || !CfnElement.isCfnElement(element)) throw new Error(`${construct.node.path} is not a resource.`);
  return Stack.of(construct).getLogicalId(element);
};
