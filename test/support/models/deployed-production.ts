import { readFileSync } from "node:fs";
import { join } from "node:path";

/**
 * The texts about the resources of production in docs/deployed.txt, which deployed.test.ts compares with the stack. To read them takes
 * less time than to synthesize it.
 */

const page = readFileSync(join(import.meta.dirname, "../../../docs/deployed.txt"), "utf8");

/** By name, without the type that follows it on the line. */
const resources = new Map(page.split(/\n(?! )/).map((text) => [text.split(" (", 1)[0] ?? "", text]));

export const textsOfResources = (): string[] => [...resources.values()];

export const textOfResource = (name: string): string => {
  const text = resources.get(name);
  if (text === undefined) throw new Error(`docs/deployed.txt has no resource ${name}.`);
  return text;
};

/** The names of the roles and managed policies that have a statement about the table. */
export const rolesAndPolicies = (): string[] =>
  [...resources].flatMap(([name, text]) => (/- Allow dynamodb:.* on \$\{Table\.Arn\}/.test(text) ? name : []));
