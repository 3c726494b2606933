import type { Admission } from "../../shared/http/endpoint.ts";
import type { EntryPoint } from "../../shared/route.ts";
import type { Handler } from "./gateway.ts";
import type { StepHandler } from "./step-functions.ts";

/** Returns what each function's file exports for it, by the function's name. `failed` stands for one that cannot be loaded. */
const load = async <H>(functions: readonly EntryPoint[], failed: (error: unknown) => H): Promise<Map<string, H>> => {
  const loading = functions.map(async ({ name, file, handler = "handler" }): Promise<readonly [string, H]> => {
    try {
      const exports: Readonly<Record<string, H>> = await import(new URL(`../../${file}`, import.meta.url).href);
      const loaded = exports[handler];
      if (!loaded) throw new Error(`${file} has no export ${handler}.`);
      return [name, loaded];
    } catch (error) {
      return [name, failed(error)];
    }
  });
  return new Map(await Promise.all(loading));
};

/** As on AWS, a function that cannot be loaded fails when it is called, and the others work. */
const failing = (error: unknown) => () => Promise.reject(error);

export const loadEndpoints = (routes: readonly EntryPoint[]) => load<Handler>(routes, failing);

export const loadSteps = (steps: readonly EntryPoint[]) => load<StepHandler>(steps, failing);

export const loadAdmissions = (routes: readonly EntryPoint[]) =>
  load<{ readonly admission: Admission }>(routes, (error) => {
    throw error;
  });
