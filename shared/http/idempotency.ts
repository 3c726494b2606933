import type { APIGatewayProxyEvent } from "aws-lambda";
import type { Fault } from "../errors.ts";
import type { Route } from "../routes.ts";
import type { Item } from "../table/expressions.ts";
import { type Idempotency, idempotency } from "../table/idempotency.ts";
import { keys } from "../table/keys.ts";
import { get } from "../table/read.ts";
import type { ApiKey } from "../tenants/schema.ts";
import { header, type Principal } from "./request.ts";

/** The Idempotency-Key of a POST, and what is stored under it. */
export type KeyUse = { readonly key: string; readonly used: Item | undefined; readonly faults: readonly Fault[] };

const keyFaults = (key: string): Fault[] => {
  const fault = { in: "header", pointer: "/Idempotency-Key" } as const;
  if (key.length < 1 || key.length > 255)
    return [{ ...fault, sub_code: "constraint.length", detail: "must be 1 to 255 characters" }];
  if (!/^[\x21-\x7e]+$/.test(key))
    return [{ ...fault, sub_code: "constraint.format", detail: "must be visible ASCII characters" }];
  return [];
};

/** Reads an earlier use of the key as soon as its account is known: beside the user, so that it costs no round trip of its own. */
export const readKeyUse = async (
  event: APIGatewayProxyEvent,
  apiKey: Promise<ApiKey | undefined>,
): Promise<KeyUse | undefined> => {
  const key = header(event, "Idempotency-Key");
  if (event.httpMethod !== "POST" || key === undefined) return undefined;
  const faults = keyFaults(key);
  const account = (await apiKey)?.account;
  const used = account && faults.length === 0 ? await get(keys.idempotency(account, key)) : undefined;
  return { key, used, faults };
};

/** The use of the key by this very POST; undefined where it came without one. */
export const useOf = (
  route: Pick<Route, "name">,
  event: Incoming,
  input: unknown,
  now: Date,
): Idempotency | undefined => {
  if (!event.keyUse) return undefined;
  const { key, used } = event.keyUse;
  const ids = Object.values(event.pathParameters ?? {}).map((id) => id?.toUpperCase());
  return idempotency(event.principal.key.account, key, used, [route.name, ids, input], now);
};

type Incoming = APIGatewayProxyEvent & { readonly principal: Principal; readonly keyUse: KeyUse | undefined };
