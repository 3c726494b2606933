import { AsyncLocalStorage } from "node:async_hooks";
import { steps } from "../../../shared/checkout/steps.ts";
import { routes } from "../../../shared/routes.ts";
import { interceptCalls, type SdkCall } from "../fault-proxy/intercept.ts";
import { tableCallOf, wantedBy } from "../fault-proxy/table-proxy.ts";

/**
 * IAM for the tests, since the embedded services allow everything. A function's call fails, as on AWS, unless its row in the tables
 * of routes or steps permits it.
 */

/** The actions on the table and the bucket, by function. All endpoints may read items. */
const allowed = new Map<string, readonly string[]>([
  ...routes.map(({ name, grants }) => [name, ["GetItem", ...grants.table, ...grants.files]] as const),
  ...steps.map(({ name, grants }) => [name, [...grants.table, ...grants.files]] as const),
]);
const running = new AsyncLocalStorage<string>();

const actionsOf = (call: SdkCall): string[] =>
  call.isTable
    ? wantedBy(tableCallOf(call)).map(({ action }) => action.replace("BatchGetItem", "GetItem"))
    : [call.operation.replace("HeadObject", "GetObject")];

interceptCalls(async (call, pass) => {
  const name = running.getStore() ?? "";
  const actions = allowed.get(name);
  const denied = actions ? actionsOf(call).filter((action) => !actions.includes(action)) : [];
  const message = `${name} is not authorized to perform: ${denied.join(", ")}`;
  if (denied.length > 0) throw Object.assign(new Error(message), { name: "AccessDeniedException" });
  return pass();
});

/** Runs each handler with the permissions of its function. */
export const withPermissions = <H extends (...args: never[]) => unknown>(handlers: ReadonlyMap<string, H>) =>
  new Map(
    Array.from(handlers, ([name, handler]) => {
      const apply = (target: H, self: unknown, args: never[]) =>
        running.run(name, () => Reflect.apply(target, self, args));
      return [name, new Proxy(handler, { apply })] as const;
    }),
  );
