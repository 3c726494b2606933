import * as z from "zod/mini";
import { SwitchData } from "./schema.ts";

/** The response document of a switch, by type of resource: for the OpenAPI document and the tests. No function loads it. */
export const switchDocuments = { switch: z.object({ type: z.literal("switch"), data: SwitchData }) } as const;
