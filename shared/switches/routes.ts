import * as z from "zod/mini";
import { byOperation, type Operation, type Reads, type Row } from "../route.ts";
import { includeOf, PageQuery, padded } from "../schema/fields.ts";
import { immutableSwitchProperties, NewSwitch, SwitchChanges, switchProblems } from "./switch-schema.ts";

/** The rows of switches' endpoints: pure functions, so that a bundle contains only its own. `contract.ts` has their texts and examples. */

/** `/api/v1/switches`, below `/accounts/{account_id}` if there is a parent, followed by `/{id}` for operations on one switch. */
const switchRoute = <P extends "account" | null, O extends Operation, R extends Reads>(parent: P, row: Row<O, R>) => {
  const { method, status, file, on } = byOperation[row.operation];
  const path = `/api/v1${parent ? "/accounts/{account_id}" : ""}/switches${on === "item" ? "/{id}" : ""}`;
  return {
    ...row,
    name: `switches/${file}${parent ? "-under-account" : ""}`,
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

const NewSwitchDocument = z.object({ type: padded(z.literal("switch")), data: NewSwitch });

// @__NO_SIDE_EFFECTS__
export const createSwitchRoute = <P extends "account" | null>(parent: P) =>
  switchRoute(parent, {
    operation: "create",
    reads: { from: "json", schema: NewSwitchDocument, rules: switchProblems },
    grants: { table: ["PutItem", "UpdateItem"], files: [] },
  });

// @__NO_SIDE_EFFECTS__
export const listSwitchesRoute = <P extends "account" | null>(parent: P) =>
  switchRoute(parent, {
    operation: "index",
    reads: { from: "query", schema: z.object({ ...PageQuery.shape, include: includeOf("account") }) },
    grants: { table: ["Query"], files: [] },
  });

// @__NO_SIDE_EFFECTS__
const show = () =>
  switchRoute(null, {
    operation: "show",
    reads: { from: "query", schema: z.object({ include: includeOf("account") }) },
    grants: { table: [], files: [] },
  });

// @__NO_SIDE_EFFECTS__
const update = () =>
  switchRoute(null, {
    operation: "update",
    reads: {
      from: "json",
      schema: z.object({ type: padded(z.literal("switch")), data: SwitchChanges }),
      immutable: immutableSwitchProperties,
      rules: switchProblems,
    },
    grants: { table: ["PutItem", "UpdateItem", "DeleteItem"], files: [] },
  });

// @__NO_SIDE_EFFECTS__
const remove = () =>
  switchRoute(null, {
    operation: "delete",
    reads: { from: "nothing", schema: z.undefined() },
    grants: { table: ["PutItem", "UpdateItem", "DeleteItem"], files: [] },
  });

export const showSwitchRoute = show();
export const updateSwitchRoute = update();
export const deleteSwitchRoute = remove();
