import { createHash } from "node:crypto";
import * as z from "zod/mini";
import { keys } from "../table/keys.ts";
import { get } from "../table/read.ts";
import { ApiKey } from "./schema.ts";

/** The hash under which a key is stored; the key itself is stored nowhere. */
export const hashOfKey = (secret: string): string => createHash("sha256").update(secret).digest("hex");

/** The key that a caller presents; undefined where there is none. */
export const readApiKey = async (secret: string): Promise<ApiKey | undefined> => {
  const item = await get(keys.apiKey(hashOfKey(secret)));
  return item && z.parse(ApiKey, item);
};
