import { unauthorized } from "../errors.ts";
import { hashOfKey, keys } from "../table/keys.ts";
import { readItem } from "../table/read.ts";
import type { Principal } from "../tenants/access.ts";
import { ApiKey, User } from "../tenants/schema.ts";
import { header, type Incoming } from "./request.ts";

const bearer = /^Bearer +(apik_[A-Za-z0-9_-]{43})$/i;

/** Starts reading the key in the request. 401 if there is none. */
export const presentedKey = (event: Incoming): Promise<ApiKey | undefined> => {
  const token = bearer.exec(header(event, "Authorization") ?? "")?.[1];
  if (token === undefined) throw unauthorized();
  return readItem(ApiKey, keys.apiKey(hashOfKey(token)));
};

/** Reads the user that a key impersonates, if there is one. */
export const readUser = async (key: ApiKey | undefined): Promise<User | undefined> => {
  return key?.user ? readItem(User, keys.user(key.user)) : undefined;
};

/**
 * The caller. 401 for a key that is unknown, revoked or expired, and for a user that is missing or disabled. Nothing is
 * kept for the next request: a revoked key is refused at once.
 */
export const identify = (key: ApiKey | undefined, user: User | undefined, now: Date): Principal => {
  if (!key || key.revoked || !user || user.disabled) throw unauthorized();
  if (key.expires_at !== null && new Date(key.expires_at) <= now) throw unauthorized();
  return { key, user };
};
