import * as z from "zod/mini";
import { Ulid } from "../schema/fields.ts";
import { SwitchData } from "./schema.ts";

/** The response document of a switch, by type of resource: for the OpenAPI document and the tests. No function loads it. */
export const switchDocuments = {
  switch: z.object({
    type: z.literal("switch"),
    data: SwitchData,
    /** What `include` adds. */
    associations: z.optional(
      z.object({
        account: z.optional(z.object({ type: z.literal("account"), data: z.object({ id: Ulid, name: z.string() }) })),
      }),
    ),
  }),
} as const;
