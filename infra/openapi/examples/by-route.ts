import type { Route } from "../../../shared/routes.ts";
import { attachmentExamples } from "./attachments.ts";
import type { Example } from "./example.ts";
import { switchExamples } from "./switches.ts";

const examples: Readonly<Record<string, Example>> = {
  ...attachmentExamples("request"),
  ...attachmentExamples("order"),
  ...switchExamples,
};

/** Throws if the route has no example. */
export const exampleOf = ({ name }: Pick<Route, "name">): Example => {
  const example = examples[name];
  if (!example) throw new Error(`infra/openapi/examples has no example for the route ${name}.`);
  return example;
};
