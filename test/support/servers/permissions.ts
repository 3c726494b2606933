import { AsyncLocalStorage } from "node:async_hooks";
import { S3Client } from "@aws-sdk/client-s3";
import { DynamoDBDocumentClient } from "@aws-sdk/lib-dynamodb";
import * as z from "zod/mini";
import { steps } from "../../../shared/checkout/steps.ts";
import { routes } from "../../../shared/routes.ts";

/**
 * IAM for the tests: what a function calls without having it in its row of the tables of routes and steps fails, as on AWS.
 * The embedded services allow everything.
 */

/** The actions on the table and the bucket, by function. All endpoints may read items. */
const allowed = new Map<string, readonly string[]>([
  ...routes.map(({ name, grants }) => [name, ["GetItem", ...grants.table, ...grants.files]] as const),
  ...steps.map(({ name, grants }) => [name, [...grants.table, ...grants.files]] as const),
]);
const running = new AsyncLocalStorage<string>();

const Transaction = z.object({ TransactItems: z.array(z.record(z.string(), z.unknown())) });

/** The actions that IAM asks for. Each of a transaction's writes is one. */
const actionsOf = (command: object, input: unknown): string[] => {
  const name = command.constructor.name.replace("Command", "");
  const { data } = z.safeParse(Transaction, input);
  if (data) return data.TransactItems.flatMap((item) => Object.keys(item).map((kind) => `${kind}Item`));
  if (/^(Batch)?Get$/.test(name)) return ["GetItem"];
  return [name.replace("HeadObject", "GetObject")];
};

const check = (command: object & { readonly input: unknown }): void => {
  const name = running.getStore() ?? "";
  const denied = actionsOf(command, command.input).filter((action) => !(allowed.get(name)?.includes(action) ?? true));
  const message = `${name} is not authorized to perform: ${denied.join(", ")}`;
  if (denied.length > 0) throw Object.assign(new Error(message), { name: "AccessDeniedException" });
};

for (const { prototype } of [DynamoDBDocumentClient, S3Client]) {
  const send: (...args: never[]) => unknown = prototype.send;
  Object.assign(prototype, {
    send(this: unknown, ...args: [Parameters<typeof check>[0], ...never[]]) {
      check(args[0]);
      return Reflect.apply(send, this, args);
    },
  });
}

/** Runs each handler with the permissions of its function. */
export const withPermissions = <H extends (...args: never[]) => unknown>(handlers: ReadonlyMap<string, H>) =>
  new Map(
    Array.from(handlers, ([name, handler]) => {
      const apply = (target: H, self: unknown, args: never[]) =>
        running.run(name, () => Reflect.apply(target, self, args));
      return [name, new Proxy(handler, { apply })] as const;
    }),
  );
