import type { Command } from "commander";
import { CommandError } from "./environment.ts";
import { printThing } from "./output.ts";

/** `key revoke`: refused from the very next request on. */
export const addKeyCommands = (key: Command): void => {
  key
    .command("revoke")
    .description("revoke an API key, by its id or by the key itself; takes effect at once")
    .argument("<id-or-key>", "the key's id, or apik_…")
    .option("--json", "print JSON")
    .action(async (reference: string, { json }: { json?: boolean }) => {
      const { revokeKey } = await import("../../shared/api-keys.ts");
      const revoked = await revokeKey(reference);
      if (!revoked)
        throw new CommandError(`There is no API key ${reference.startsWith("apik_") ? "like that" : reference}.`);
      printThing({ id: revoked.id, account: revoked.account, revoked: true }, { json });
    });
};
