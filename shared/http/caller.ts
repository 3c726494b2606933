import type { MiddlewareObj } from "@middy/core";
import type { APIGatewayProxyEvent } from "aws-lambda";
import * as z from "zod/mini";
import { unauthorized } from "../errors.ts";
import { keys } from "../table/keys.ts";
import { get } from "../table/read.ts";
import { hashOfKey } from "../tenants/api-keys.ts";
import { ApiKey, User } from "../tenants/schema.ts";
import { type KeyUse, readKeyUse } from "./idempotency.ts";
import { type Guard, header, type Principal, type Scope } from "./request.ts";

const bearer = /^Bearer +(apik_[A-Za-z0-9_-]{43})$/i;

const readKey = async (token: string): Promise<ApiKey | undefined> => {
  const item = await get(keys.apiKey(hashOfKey(token)));
  return item && z.parse(ApiKey, item);
};

const readUser = async (key: ApiKey | undefined): Promise<User | undefined> => {
  const item = key?.user && (await get(keys.user(key.user)));
  return item ? z.parse(User, item) : undefined;
};

const principal = (key: ApiKey | undefined, user: User | undefined, now: Date): Principal => {
  if (!key || key.revoked || !user || user.disabled) throw unauthorized();
  if (key.expires_at !== null && new Date(key.expires_at) <= now) throw unauthorized();
  return { key, user };
};

/**
 * Identifies the caller (401) and lets the guard decide (404, 403). The key and what the guard needs are read at the
 * same time, and nothing of either is kept for the next request: a revoked key is refused at once.
 */
export const authenticate = <T extends Scope>(
  guard: Guard<T>,
): MiddlewareObj<APIGatewayProxyEvent & { principal: Principal; scope: T; keyUse: KeyUse | undefined }> => ({
  before: async ({ event }) => {
    const token = bearer.exec(header(event, "Authorization") ?? "")?.[1];
    if (token === undefined) throw unauthorized();
    const key = readKey(token);
    const [pass, user, keyUse] = await Promise.all([guard(event, key), key.then(readUser), readKeyUse(event, key)]);
    event.keyUse = keyUse;
    event.principal = principal(await key, user, new Date());
    event.scope = pass(event.principal);
  },
});
