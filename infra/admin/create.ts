import type { Command } from "commander";
import { printThing } from "./output.ts";

type Json = { readonly json?: boolean };

/** Applies a document of one entry and answers what it made. */
const make = async (section: "accounts" | "users" | "keys" | "orders" | "requests", entry: object) => {
  const { apply } = await import("../../shared/apply.ts");
  const made = await apply({ [section]: { new: entry } });
  return made[section].new ?? {};
};

const collect = (value: string, all: readonly string[] = []) => [...all, value];

/** `account create`, `user create`, `key issue`, `order create`, `request create`: each is an `apply` of one thing. */
export const addCreateCommands = (groups: Record<"account" | "user" | "key" | "order" | "request", Command>): void => {
  groups.account
    .command("create")
    .description("create an account, at the top or below another")
    .requiredOption("--name <name>", "display name")
    .option("--parent <id>", "the account above it")
    .option("--attachments", "enable Ordering Attachment Access for it", false)
    .option("--json", "print JSON")
    .action(
      async ({ name, parent, attachments, json }: Json & { name: string; parent?: string; attachments: boolean }) => {
        const features = { ordering_attachment_access: attachments };
        printThing(await make("accounts", { name, parent: parent ?? null, features }), { json });
      },
    );
  groups.user
    .command("create")
    .description("create a user with permissions")
    .requiredOption("--account <id>", "the account that the user belongs to")
    .option("--permission <permission>", "an exact permission, or <resource>:*; repeat for more", collect, [])
    .option("--disabled", "create it disabled", false)
    .option("--json", "print JSON")
    .action(
      async ({
        account,
        permission,
        disabled,
        json,
      }: Json & { account: string; permission: string[]; disabled: boolean }) =>
        printThing(await make("users", { account, permissions: permission, disabled }), { json }),
    );
  groups.key
    .command("issue")
    .description("issue an API key; it is shown once, here, and never again")
    .requiredOption("--account <id>", "the account that the key belongs to")
    .requiredOption("--user <id>", "the user that it impersonates")
    .option("--expires-at <time>", "ISO 8601 date and time after which it is refused")
    .option("--json", "print JSON")
    .action(async ({ account, user, expiresAt, json }: Json & { account: string; user: string; expiresAt?: string }) =>
      printThing(await make("keys", { account, user, expires_at: expiresAt ?? null }), { json }),
    );
  groups.order
    .command("create")
    .description("create an order, in CART unless told otherwise")
    .requiredOption("--account <id>", "the account that owns it")
    .option("--state <state>", "CART or CHECKED_OUT", "CART")
    .option("--json", "print JSON")
    .action(async ({ account, state, json }: Json & { account: string; state: string }) =>
      printThing(await make("orders", { account, state }), { json }),
    );
  groups.request
    .command("create")
    .description("create a request within an order")
    .requiredOption("--order <id>", "the order that it belongs to")
    .requiredOption("--type <type>", "ADD_MESSAGING_NUMBERS, or any other text")
    .option("--account <id>", "the account that owns it: the order's (the default) or one below it")
    .option("--json", "print JSON")
    .action(async ({ order, type, account, json }: Json & { order: string; type: string; account?: string }) =>
      printThing(await make("requests", { order, type, ...(account && { account }) }), { json }),
    );
};
