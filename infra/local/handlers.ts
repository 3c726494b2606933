import type { Step } from "../../shared/checkout/steps.ts";
import type { Admission } from "../../shared/http/endpoint.ts";
import type { Route } from "../../shared/route.ts";
import { entryPointOf } from "../entry-points.ts";
import type { Handler } from "./gateway.ts";
import type { StepHandler } from "./step-functions.ts";

const load = async <H>(named: readonly { readonly name: string }[]): Promise<Map<string, H>> => {
  const loading = named.map(async ({ name }): Promise<readonly [string, H]> => {
    const { file, handler } = entryPointOf(name);
    const path = `../../functions/${file}.ts`;
    const exports: Readonly<Record<string, H>> = await import(new URL(path, import.meta.url).href);
    const loaded = exports[handler];
    if (!loaded) throw new Error(`functions/${file}.ts has no export ${handler}.`);
    return [name, loaded];
  });
  return new Map(await Promise.all(loading));
};

export const loadEndpoints = (routes: readonly Pick<Route, "name">[]) => load<Handler>(routes);

export const loadAdmissions = (routes: readonly Pick<Route, "name">[]) =>
  load<{ readonly admission: Admission }>(routes);

export const loadSteps = (steps: readonly Pick<Step, "name">[]) => load<StepHandler>(steps);
