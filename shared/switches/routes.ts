import * as z from "zod/mini";
import { byOperation, type Operation, type Reads, type Row } from "../route.ts";
import { includeOf, PageQuery, padded } from "../schema/fields.ts";
import { immutableSwitchProperties, NewSwitch, SwitchChanges, switchProblems } from "./switch-schema.ts";

/** The rows of switches' endpoints in the route table. Some exist both for the API key's own account and for one in the path. */

/** `/api/v1/switches`, below `/accounts/{account_id}` if there is a parent, followed by `/{id}` for operations on one switch. */
const switchRoute = <P extends "account" | null, O extends Operation, R extends Reads>(parent: P, row: Row<O, R>) => {
  const { method, status, verb, on } = byOperation[row.operation];
  const path = `/api/v1${parent ? "/accounts/{account_id}" : ""}/switches${on === "item" ? "/{id}" : ""}`;
  return {
    ...row,
    name: `switches/${verb}${parent ? "-under-account" : ""}`,
    handler: parent ? "underAccount" : "handler",
    method,
    path,
    parent,
    on,
    resource: "switch",
    document: "switch",
    permission: `messaging_switches:${row.operation}`,
    status,
  } as const;
};

const forAccounts = <R>(row: (parent: "account" | null) => R) => ({ own: row(null), inPath: row("account") });

const NewSwitchDocument = z.object({ type: padded(z.literal("switch")), data: NewSwitch });

export const createSwitchRoutes = forAccounts((parent) =>
  switchRoute(parent, {
    operation: "create",
    file: "functions/switches/create.ts",
    reads: { from: "json", schema: NewSwitchDocument, rules: switchProblems },
    grants: { table: ["PutItem", "UpdateItem"], files: [] },
  }),
);

export const listSwitchesRoutes = forAccounts((parent) =>
  switchRoute(parent, {
    operation: "index",
    file: "functions/switches/list.ts",
    reads: { from: "query", schema: z.object({ ...PageQuery.shape, include: includeOf("account") }) },
    grants: { table: ["Query"], files: [] },
  }),
);

export const showSwitchRoute = switchRoute(null, {
  operation: "show",
  file: "functions/switches/show.ts",
  reads: { from: "query", schema: z.object({ include: includeOf("account") }) },
  grants: { table: [], files: [] },
});

export const updateSwitchRoute = switchRoute(null, {
  operation: "update",
  file: "functions/switches/update.ts",
  reads: {
    from: "json",
    schema: z.object({ type: padded(z.literal("switch")), data: SwitchChanges }),
    immutable: immutableSwitchProperties,
    rules: switchProblems,
  },
  grants: { table: ["PutItem", "UpdateItem", "DeleteItem"], files: [] },
});

export const deleteSwitchRoute = switchRoute(null, {
  operation: "delete",
  file: "functions/switches/delete.ts",
  reads: { from: "nothing", schema: z.undefined() },
  grants: { table: ["PutItem", "UpdateItem", "DeleteItem"], files: [] },
});
