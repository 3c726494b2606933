import type { Route } from "../../../shared/routes.ts";
import { attachmentExamples } from "./attachments.ts";
import type { Example } from "./example.ts";
import { switchExamples } from "./switches.ts";

const examples: Readonly<Record<string, Example>> = {
  ...attachmentExamples("request"),
  ...attachmentExamples("order"),
  ...switchExamples,
};

/** The example of a route. Throws if there is none. */
export const exampleOf = ({ name }: Pick<Route, "name">): Example => {
  const example = examples[name];
  if (!example) throw new Error(`infra/openapi/examples has no example for the route ${name}.`);
  return example;
};
