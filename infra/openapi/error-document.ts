import * as z from "zod/mini";
import { errorCodes, subCodes } from "../../shared/errors.ts";

/** The schema of error responses. Only the OpenAPI document and tests use it. */

const Resource = z.object({ id: z.string(), type: z.string() });

const ErrorParams = z.object({
  account: z.optional(Resource),
  permission: z.optional(z.string()),
  resource: z.optional(Resource),
  limit_bytes: z.optional(z.int()),
  direct_upload: z.optional(z.boolean()),
  expected: z.optional(z.string()),
});

const ErrorCode = z.enum(errorCodes.map(({ code }) => code));
const ErrorSubCode = z.enum([...subCodes, "none"]);
const ErrorLocation = z.enum(["body", "query", "header"]);
const ErrorSource = z.object({ in: ErrorLocation, pointer: z.string() });

const ErrorObject = z.object({
  code: ErrorCode,
  title: z.string(),
  detail: z.string(),
  sub_code: ErrorSubCode,
  source: z.optional(ErrorSource),
  params: z.optional(ErrorParams),
});

export const ErrorDocument = z.object({ errors: z.array(ErrorObject).check(z.minLength(1)) });

/** The parts of the body that are named schemas in the OpenAPI document. */
export const errorSchemas = {
  ErrorDocument: [ErrorDocument, "The body of every error response. It lists every error of the request."],
  ErrorObject: [ErrorObject, "One error."],
  ErrorCode: [ErrorCode, "The error codes."],
  ErrorSubCode: [ErrorSubCode, "The rules that a parameter can violate."],
  ErrorSource: [ErrorSource, "The part of the request that caused the error."],
  ErrorLocation: [ErrorLocation, "The parts of a request."],
  ErrorParams: [ErrorParams, "Details of the error. Which properties are present depends on the code."],
  ErrorResource: [Resource, "A resource that an error is about."],
} as const satisfies Record<string, readonly [z.core.$ZodType, string]>;

export const errorProperties = {
  id: "The id of the resource, as the request gives it.",
  type: "The type of the resource.",
  errors: "All errors of the request.",
  code: "The error code. The list of codes is closed.",
  title: "A short, fixed summary of the code.",
  detail: "An explanation of this error for people.",
  sub_code: "For `invalid_parameter`, the rule that the parameter violates; otherwise `none`.",
  source: "The part of the request that caused the error.",
  in: "Where the parameter is.",
  pointer:
    "A JSON pointer: `/data/name` in a body (also for the form part `data[name]`), `/first` in the query, `/Idempotency-Key` for a header. Empty if the error is about the body as a whole.",
  params: "Details of the error.",
  account: "The account for which the feature is not enabled.",
  permission: "The missing permission.",
  resource: "The resource that does not exist, or the one that already uses the value.",
  limit_bytes: "The largest accepted size, in bytes.",
  direct_upload: "`true` if the file can be uploaded directly.",
  expected: "The accepted media types, separated by commas.",
} as const;
