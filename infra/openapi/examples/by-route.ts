import type { Route } from "../../../shared/routes.ts";
import { attachmentExamples } from "./attachments.ts";
import type { Example } from "./example.ts";
import { switchExamples } from "./switches.ts";

const examples: Readonly<Record<string, Example>> = {
  ...attachmentExamples("request"),
  ...attachmentExamples("order"),
  ...switchExamples,
};

/** What the reference shows of an endpoint. Throws for one that has none yet. */
export const exampleOf = ({ name }: Pick<Route, "name">): Example => {
  const example = examples[name];
  if (!example) throw new Error(`infra/openapi/examples has nothing for the route ${name}.`);
  return example;
};
