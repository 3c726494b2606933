import type { Step } from "../../shared/checkout/steps.ts";
import type { Route } from "../../shared/route.ts";
import type { Handler } from "./gateway.ts";
import type { StepHandler } from "./workflow.ts";

const load = async <H>(named: readonly { readonly name: string }[]): Promise<Map<string, H>> => {
  const loading = named.map(async ({ name }): Promise<readonly [string, H]> => {
    const { handler }: { handler: H } = await import(new URL(`../../functions/${name}.ts`, import.meta.url).href);
    return [name, handler];
  });
  return new Map(await Promise.all(loading));
};

export const loadEndpoints = (routes: readonly Pick<Route, "name">[]) => load<Handler>(routes);

export const loadSteps = (steps: readonly Pick<Step, "name">[]) => load<StepHandler>(steps);
