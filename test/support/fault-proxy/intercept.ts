import { S3Client } from "@aws-sdk/client-s3";
import { DynamoDBDocumentClient } from "@aws-sdk/lib-dynamodb";

/** Intercepts the calls of this process to the table and the bucket before they are sent. */

export type SdkCall = {
  readonly command: { readonly input: object };
  /** The operation, such as `GetItem`, `TransactWriteItems` or `PutObject`. */
  readonly operation: string;
  readonly isTable: boolean;
};

/** Receives each call, and sends it with `pass`. */
type Visit = (call: SdkCall, pass: () => Promise<unknown>) => Promise<unknown>;

const visitors = new Set<Visit>();

/** Completes the names of the document client's commands, such as Get. */
const operationOf = ({ constructor: { name } }: object) =>
  name
    .replace(/Command$/, "")
    .replace(/^(Batch)?(Get|Put|Update|Delete|Write)$/, "$&Item")
    .replace(/^Transact(Get|Write)$/, "$&Items");

for (const { prototype } of [DynamoDBDocumentClient, S3Client]) {
  const send: (...args: never[]) => Promise<unknown> = prototype.send;
  Object.assign(prototype, {
    send(this: unknown, ...args: [SdkCall["command"], ...never[]]) {
      const [command] = args;
      const call = { command, operation: operationOf(command), isTable: this instanceof DynamoDBDocumentClient };
      const passed = (): Promise<unknown> => Reflect.apply(send, this, args);
      return [...visitors].reduce<typeof passed>((pass, visit) => () => visit(call, pass), passed)();
    },
  });
}

/** Calls `visit` for each call. Returns a function that ends the interception. */
export const interceptCalls = (visit: Visit) => {
  visitors.add(visit);
  return () => visitors.delete(visit);
};
