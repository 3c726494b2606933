import { AsyncLocalStorage } from "node:async_hooks";
import { steps } from "../../../shared/checkout/steps.ts";
import { routes } from "../../../shared/routes.ts";
import { interceptCalls, type SdkCall } from "../fault-proxy/intercept.ts";
import { tableCallOf, wantedBy } from "../fault-proxy/table-proxy.ts";
import { refusalsOf } from "../models/iam.ts";

/**
 * IAM for the tests, since the embedded services allow everything. A function's call fails, as on AWS, unless its role in
 * docs/deployed.txt permits it, denials included. For the bucket, its row in the tables of routes or steps decides.
 */

const releaseLock = { name: "checkout/release-lock", grants: { files: [] } };

const functions = [...routes, ...steps, releaseLock].map(({ name, grants }) => {
  // Looked up at the first call: a role that the page lacks fails the tests of this function, and not all.
  let refusals: ReturnType<typeof refusalsOf> | undefined;
  const files: readonly string[] = grants.files;
  const refused = (call: SdkCall): string[] => {
    const operation = call.operation.replace("HeadObject", "GetObject");
    if (!call.isTable) return files.includes(operation) ? [] : [operation];
    refusals ??= refusalsOf(`${name.replace("/", "-")}-role`);
    return refusals(wantedBy(tableCallOf(call))).map(({ action, pk }) => `${action} on ${pk}`);
  };
  return [name, refused] as const;
});
const refusedBy = new Map(functions);
const running = new AsyncLocalStorage<string>();

interceptCalls(async (call, pass) => {
  const name = running.getStore() ?? "";
  const refused = refusedBy.get(name)?.(call) ?? [];
  const message = `${name} is not authorized to perform: ${refused.join(", ")}`;
  if (refused.length > 0) throw Object.assign(new Error(message), { name: "AccessDeniedException" });
  return pass();
});

/** Runs a handler with the permissions of its function. */
export const asFunction = <H extends (...args: never[]) => unknown>(name: string, handler: H): H => {
  const apply = (target: H, self: unknown, args: never[]) => running.run(name, () => Reflect.apply(target, self, args));
  return new Proxy(handler, { apply });
};

export const withPermissions = <H extends (...args: never[]) => unknown>(handlers: ReadonlyMap<string, H>) =>
  new Map(Array.from(handlers, ([name, handler]) => [name, asFunction(name, handler)] as const));
