import { CfnElement, Stack, Validations } from "aws-cdk-lib";
import type { IConstruct } from "constructs";

/** Accepts findings of cdk-nag on a construct and all below it, each for a reason that a security engineer would accept. */
export const accept = (construct: IConstruct, reasons: Readonly<Record<string, string>>): void => {
  for (const [id, reason] of Object.entries(reasons)) Validations.of(construct).acknowledge({ id, reason });
};

/** A resource's name in the template, by which cdk-nag calls it in its findings. */
export const logicalId = (construct: IConstruct): string => {
  const element = construct.node.defaultChild;
  if (!element || !CfnElement.isCfnElement(element)) throw new Error(`${construct.node.path} is no resource.`);
  return Stack.of(construct).getLogicalId(element);
};
