import type { Admission } from "../../shared/http/endpoint.ts";
import type { EntryPoint } from "../../shared/route.ts";
import type { Handler } from "./gateway.ts";
import type { StepHandler } from "./step-functions.ts";

const load = async <H>(functions: readonly EntryPoint[]): Promise<Map<string, H>> => {
  const loading = functions.map(async ({ name, file, handler = "handler" }): Promise<readonly [string, H]> => {
    const exports: Readonly<Record<string, H>> = await import(new URL(`../../${file}`, import.meta.url).href);
    const loaded = exports[handler];
    if (!loaded) throw new Error(`${file} has no export ${handler}.`);
    return [name, loaded];
  });
  return new Map(await Promise.all(loading));
};

export const loadEndpoints = (routes: readonly EntryPoint[]) => load<Handler>(routes);

export const loadAdmissions = (routes: readonly EntryPoint[]) => load<{ readonly admission: Admission }>(routes);

export const loadSteps = (steps: readonly EntryPoint[]) => load<StepHandler>(steps);
