import { pageOf } from "./description.ts";
import { synthesize } from "./template.ts";

/** Generates docs/deployed.txt, which shows a reviewer the effect of a change in infra/aws. */

const introduction = `What ./patchbay deploy -c stage=production creates. Written by npm run deployed; npm test fails where it is not what the code deploys. Only
the carrier's URL is an example. For another stage, and for the properties of what is only counted here, see npx cdk diff.

Each resource begins a line with its name and its type. What it has of its own follows, on lines below if it is long; what it has in common
with most resources of its type is at "every <type>". (none): it lacks what most have.
\${Name} and \${Name.Attribute} refer to a resource, and @ stands for the name of the function that the line's resource belongs to.
<stack> is the stack's name, <tags> are Application: Patchbay, Stage: production and those of the stage's file, <hash> names a bundle. A policy is a list of sentences. Texts in JSON are written like properties.`;

export const deployedPage = (): string => {
  const { resources, terminationProtection } = synthesize("production");
  const protection = `TerminationProtection: ${terminationProtection}`;
  return `${[introduction, protection, pageOf(resources).join("\n")].join("\n\n")}\n`;
};
