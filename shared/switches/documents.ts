import * as z from "zod/mini";
import { Ulid } from "../schema/fields.ts";
import { SwitchData } from "./schema.ts";

/**
 * The schema of the response document of a switch, for the OpenAPI document and the tests. No function loads this file.
 */
export const switchDocuments = {
  switch: z.object({
    type: z.literal("switch"),
    data: SwitchData,
    /** The associations that `include` adds. */
    associations: z.optional(
      z.object({
        account: z.optional(z.object({ type: z.literal("account"), data: z.object({ id: Ulid, name: z.string() }) })),
      }),
    ),
  }),
} as const;
