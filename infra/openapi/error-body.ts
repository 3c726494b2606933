import * as z from "zod/mini";
import { errorCodes, subCodes } from "../../shared/errors.ts";

/** The body of every answer that is an error, as a schema. No function loads it. */

const Resource = z.object({ id: z.string(), type: z.string() });

/** What goes with some codes. */
export const ErrorParams = z.object({
  account: z.optional(Resource),
  permission: z.optional(z.string()),
  resource: z.optional(Resource),
  limit_bytes: z.optional(z.int()),
  expected: z.optional(z.string()),
});

export const ErrorSource = z.object({ in: z.enum(["body", "query", "header"]), pointer: z.string() });

export const ErrorObject = z.object({
  code: z.enum(errorCodes.map(({ code }) => code)),
  title: z.string(),
  detail: z.string(),
  sub_code: z.enum([...subCodes, "none"]),
  source: z.optional(ErrorSource),
  params: z.optional(ErrorParams),
});

export const ErrorBody = z.object({ errors: z.array(ErrorObject).check(z.minLength(1)) });
