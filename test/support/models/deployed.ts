import { differencesOf, pageOf, printAll } from "./description.ts";
import { otherStages, synthesize } from "./template.ts";

/** Generates docs/deployed.txt and docs/deployed-variants.txt, which show a reviewer the effect of a change in infra/aws. */

const introduction = `Everything that ./patchbay deploy -c stage=production creates. Written by npm run deployed; npm test fails where it is not what the code
deploys. Only the carrier's URL is an example.

Each resource begins a line with its name and its type. What it has of its own follows, on lines below if it is long; what it has in common
with most resources of its type is at "every <type>". (none): it lacks what most have.
\${Name} and \${Name.Attribute} refer to a resource, and @ stands for the name of the function that the line's resource belongs to.
<stack> is the stack's name, <tags> are Application: Patchbay, Stage: production and those of the stage's file, <hash> names a bundle. A policy is a list of sentences. Texts in JSON are written like properties.`;

const introductionToOthers = `Where other stages than that of deployed.txt differ from it. Written by npm run deployed.

"without": what the stage lacks. A list says what it has more (+) and what it lacks (-).`;

const write = (...parts: readonly (readonly string[])[]) => `${parts.map((lines) => lines.join("\n")).join("\n\n")}\n`;

export const deployedPages = (): Readonly<Record<string, string>> => {
  const production = synthesize("production");
  const protection = `TerminationProtection: ${production.terminationProtection}`;
  const others = otherStages.map((name) => {
    const { resources, choice, terminationProtection } = synthesize(name);
    const title = printAll(`# ${name}:`, { ...choice });
    return [
      ...title,
      `TerminationProtection: ${terminationProtection}`,
      ...differencesOf(resources, production.resources),
    ];
  });
  return {
    "deployed.txt": write([introduction], [protection], pageOf(production.resources)),
    "deployed-variants.txt": write([introductionToOthers], ...others),
  };
};
