import * as z from "zod/mini";

/** Items as they are stored, without input rules. A new property needs a default, because older items lack it. */

const versioned = { version: z.number(), updated_at: z.string() };

export const Account = z.object({
  id: z.string(),
  name: z.string(),
  /** The accounts above it, root first. */
  ancestors: z.array(z.string()),
  features: z.object({ ordering_attachment_access: z.boolean() }),
  /** The marks of the calls of `account erase` that erase it. Each call removes only its own. */
  erasing: z.optional(z.array(z.string())),
  /**
   * It is set once its API keys are being deleted, which cannot be taken back. It counts what is erased, by kind, and is empty for an
   * account below the one that is erased.
   */
  erasure: z.optional(z.record(z.string(), z.int())),
  ...versioned,
});
export type Account = z.infer<typeof Account>;

/** Whether an account exists for endpoints, lists and commands. An account that is being erased does not. */
export const isKnown = ({ erasing }: Account): boolean => erasing === undefined;

/** The condition under which something is added to an account, or a checkout of an order begins. */
export const whileItLasts = { exists: true, equals: { erasing: undefined } } as const;

/** Whether an API key of the account `from` can access `account`, which must be its own account or one below it. */
export const canAccess = (from: string, account: Pick<Account, "id" | "ancestors">): boolean =>
  account.id === from || account.ancestors.includes(from);

export const User = z.object({
  id: z.string(),
  account: z.string(),
  permissions: z.array(z.string()),
  disabled: z.boolean(),
  ...versioned,
});
export type User = z.infer<typeof User>;

/** Whether a user has a permission, exactly or by the wildcard operation of its resource. */
export const hasPermission = ({ permissions }: User, permission: string): boolean =>
  permissions.includes(permission) || permissions.includes(permission.replace(/:[^:]*$/, ":*"));

export const ApiKey = z.object({
  id: z.string(),
  account: z.string(),
  user: z.nullable(z.string()),
  label: z.nullable(z.string()),
  inserted_at: z.string(),
  expires_at: z.nullable(z.string()),
  revoked: z.boolean(),
  /** The id of the key that replaces this one, such as after `key rotate`. */
  replaced_by: z.nullable(z.string()),
  ...versioned,
});
export type ApiKey = z.infer<typeof ApiKey>;

export const OrderState = z.enum(["CART", "CHECKED_OUT"]);
export type OrderState = z.infer<typeof OrderState>;

/** The account that owns a resource, and the accounts above it, root first. An account never moves, so they stay the same. */
const owned = { account: z.string(), ancestors: z.array(z.string()) };

export const Order = z.object({
  id: z.string(),
  ...owned,
  state: OrderState,
  /** When a run has checked the order out. It is absent in a cart, and in an order that was created as CHECKED_OUT. */
  checked_out_at: z.optional(z.string()),
  /** Counts the order's own attachments only. Requests count theirs. */
  attachment_count: z.number(),
  /** Grows with every change of the order's and its requests' attachments, and with every new request. A checkout seals it. */
  attachments_version: z.number(),
  /** Like its account's, so that no checkout begins. */
  erasing: z.optional(z.array(z.string())),
  /**
   * It grows whenever what receipts say is taken back, and is absent before. A checkout seals only what they said in its current
   * version.
   */
  receipts_version: z.optional(z.number()),
});
export type Order = z.infer<typeof Order>;

/** A request has no state of its own. Its order's state applies. */
export const Request = z.object({
  id: z.string(),
  ...owned,
  order: z.string(),
  type: z.string(),
  attachment_count: z.number(),
});
export type Request = z.infer<typeof Request>;

/** Attachments of requests of these types, and those of their orders, are forwarded to the carrier. */
export const forwardedTypes = ["ADD_MESSAGING_NUMBERS"] as const;

export const isForwarded = (type: unknown): boolean => forwardedTypes.some((one) => one === type);

export const OrderRequest = z.pick(Request, { id: true, type: true, account: true });
export type OrderRequest = z.infer<typeof OrderRequest>;
