import { createHash } from "node:crypto";
import * as z from "zod/mini";
import { ApiKey } from "./schemas/tenancy.ts";
import { type Key, keys } from "./table/keys.ts";
import { get, scan } from "./table/read.ts";
import { update } from "./table/write.ts";

/** The hash under which a key is stored; the key itself is stored nowhere. */
export const hashOfKey = (secret: string): string => createHash("sha256").update(secret).digest("hex");

const find = async (reference: string): Promise<(ApiKey & { readonly at: Key }) | undefined> => {
  if (reference.startsWith("apik_")) {
    const at = keys.apiKey(hashOfKey(reference));
    const item = await get(at);
    return item && { ...z.parse(ApiKey, item), at };
  }
  for await (const item of scan("KEY")) {
    const key = z.parse(z.extend(ApiKey, { pk: z.string(), sk: z.string() }), item);
    if (key.id === reference.toUpperCase()) return { ...key, at: { pk: key.pk, sk: key.sk } };
  }
  return undefined;
};

/** Revokes a key, by the key itself or by its id (which reads the whole table); undefined where there is none. */
export const revokeKey = async (reference: string): Promise<ApiKey | undefined> => {
  const key = await find(reference);
  if (!key) return undefined;
  await update({ update: key.at, set: { revoked: true }, when: { exists: true } });
  return key;
};
