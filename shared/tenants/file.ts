import * as z from "zod/mini";
import { nonBlankText } from "../schema/fields.ts";
import { OrderState } from "./schema.ts";

/** A name in the same file, or the id of something that exists. */
const Reference = nonBlankText(255);

const section = <T extends z.core.$ZodType>(entry: T) => z._default(z.record(z.string(), entry), {});

/** What `admin apply` takes: accounts, users, keys, orders and requests, each under a name of the file's own. */
export const TenantsFile = z.strictObject({
  accounts: section(
    z.strictObject({
      name: nonBlankText(255),
      parent: z.optional(z.nullable(Reference)),
      features: z._default(z.strictObject({ ordering_attachment_access: z._default(z.boolean(), false) }), {
        ordering_attachment_access: false,
      }),
    }),
  ),
  users: section(
    z.strictObject({
      account: Reference,
      permissions: z._default(z.array(nonBlankText(255)).check(z.maxLength(1000)), []),
      disabled: z._default(z.boolean(), false),
    }),
  ),
  keys: section(
    z.strictObject({
      account: Reference,
      user: z.nullable(Reference),
      expires_at: z._default(
        z.nullable(z.iso.datetime({ offset: true, error: "must be an ISO 8601 date and time, with Z or an offset" })),
        null,
      ),
      revoked: z._default(z.boolean(), false),
    }),
  ),
  orders: section(z.strictObject({ account: Reference, state: z._default(OrderState, "CART") })),
  requests: section(z.strictObject({ order: Reference, account: z.optional(Reference), type: nonBlankText(255) })),
});
export type TenantsFile = z.infer<typeof TenantsFile>;
