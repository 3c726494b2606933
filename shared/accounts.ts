import type { Account, User } from "./schemas/tenancy.ts";

/** Whether a key of account `from` sees things of `account`: its own and every account below it, nothing else. */
export const sees = (from: string, account: Pick<Account, "id" | "ancestors">): boolean =>
  account.id === from || account.ancestors.includes(from);

/** Whether a user holds a permission, by its exact name or by the wildcard operation of its resource. */
export const holds = ({ permissions }: User, permission: string): boolean =>
  permissions.includes(permission) || permissions.includes(permission.replace(/:[^:]*$/, ":*"));
