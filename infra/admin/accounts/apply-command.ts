import { isUtf8 } from "node:buffer";
import { readFile } from "node:fs/promises";
import { buffer } from "node:stream/consumers";
import type { Command } from "commander";
import { ApiError } from "../../../shared/errors.ts";
import { repeatedNames } from "../../../shared/schema/check.ts";
import { backOff } from "../../../shared/table/client.ts";
import type { Precondition } from "../../../shared/table/optimistic-update.ts";
import { PartlyAppliedError } from "../../../shared/tenants/applied.ts";
import { apply, countsOf } from "../../../shared/tenants/apply.ts";
import { isDryRun, type SectionName, tenantsJsonSchema } from "../../../shared/tenants/apply-schema.ts";
import { portalPermissions } from "../../../shared/tenants/permissions.ts";
import { CommandError, messageOf } from "../cli/command-errors.ts";
import { type Caller, operatorOrigin } from "../cli/operator.ts";
import { type Format, printJson, safe } from "../cli/output.ts";
import { withProgress } from "../cli/progress.ts";
import { add, addChange } from "../cli/usage.ts";

/** Applies one entry. `describe` converts a problem with a property to an error message. */
const applyOne = async (
  section: SectionName,
  entry: object,
  caller: Caller,
  describe: (property: string, detail: string) => string,
  precondition?: Precondition,
) => {
  try {
    const applied = await apply({ [section]: { one: entry } }, await operatorOrigin(caller), { precondition });
    const { one } = applied[section];
    for (const { detail } of applied.warnings ?? []) console.error(`Warning: ${detail}`);
    if (!one) throw new Error("The entry has no result.");
    return one;
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 422) throw error;
    const lines = error.body.errors.map(({ source, detail }) => describe(source?.pointer.split("/")[3] ?? "", detail));
    throw new CommandError(lines.join("\n"));
  }
};

const optionOf = (property: string) => `--${property.replace("permissions", "permission").replaceAll("_", "-")}`;

/** Creates one item through `apply`. Returns its id and, for an API key, the key itself. An error names the option. */
export const create = async (section: SectionName, entry: object, caller: Caller) => {
  const { id, key } = await applyOne(section, entry, caller, (property, detail) => `${optionOf(property)}: ${detail}`);
  return { id, ...(key !== undefined && { key }) };
};

/** Changes one existing item through `apply`. */
export const change = async (
  section: SectionName,
  id: string,
  entry: object,
  caller: Caller,
  precondition?: Precondition,
) => {
  await applyOne(section, { id, ...entry }, caller, (name, detail) => `The ${name} ${detail}.`, precondition);
};

/** Runs a change that depends on what an item is. If the item has changed since it was read, reads it and tries again. */
export const changeAsRead = async <T extends { readonly version: number }, R>(
  read: () => Promise<T>,
  act: (item: T, precondition: Precondition) => Promise<R>,
): Promise<R> => {
  for (let attempt = 1; ; attempt += 1) {
    const item = await read();
    const changed = new Error("The item has changed each time.");
    try {
      return await act(item, (version) => {
        if (version !== item.version) throw changed;
      });
    } catch (error) {
      if (error !== changed) throw error;
      await backOff(attempt, changed);
    }
  }
};

const help = `
Complete example: docs/examples/customer.json
  ./patchbay apply docs/examples/customer.json --dry-run

Short example:
  echo '{"accounts": {"acme": {"name": "Acme", "features": {"ordering_attachment_access": true}}},
         "users": {"portal": {"account": "acme", "permissions": [
           ${portalPermissions.map((one) => JSON.stringify(one)).join(",\n           ")}]}},
         "keys": {"portal": {"account": "acme", "user": "portal"}}}' | ./patchbay apply -

A reference is a name in the file or the id of an existing item. An entry whose id (a ULID) exists changes that item, and
leaves what it does not name as it is. The output has the id and the status of each entry (created, changed, unchanged),
what changed, and the new keys, which are not printed again. docs/apply.md describes the file.`;

export const addApplyCommand = (program: Command): void => {
  addChange(program, "apply <file>", "create or change what a JSON file describes; - is standard input")
    .option("--dry-run", "print what would be done, and write nothing", false)
    .addHelpText("after", help)
    .action(async (file: string, { dryRun, json, ...caller }: Format & Caller & { dryRun: boolean }) => {
      const { document, problems } = await readDocument(file);
      const origin = await operatorOrigin(caller);
      const isDry = dryRun || isDryRun(document);
      const applyAll = (signal?: AbortSignal) => apply(document, origin, { dryRun, signal, problems });
      const applying = () =>
        (isDry ? applyAll() : stopOnInterrupt(applyAll)).catch((error: unknown) => {
          // No id or key may be lost. With --json, the errors contain them.
          if (error instanceof PartlyAppliedError && !json) printJson(error.applied);
          throw error;
        });
      const applied = await withProgress(applying, "Applying …");
      const { created, changed, unchanged } = countsOf(applied);
      console.error(`${isDry ? "Dry run: " : ""}${created} created, ${changed} changed, ${unchanged} unchanged.`);
      for (const { pointer, detail } of applied.warnings ?? []) console.error(safe(`Warning: ${pointer}: ${detail}`));
      printJson(applied);
    });
};

export const addSchemaCommand = (program: Command): void => {
  add(program, "schema", "print the JSON Schema of the file that `apply` accepts").action(() =>
    printJson(tenantsJsonSchema()),
  );
};

/** Ctrl-C stops after the transaction in progress, so that what was written is printed. */
const stopOnInterrupt = async <T>(act: (signal: AbortSignal) => Promise<T>): Promise<T> => {
  const stop = new AbortController();
  const interrupt = () => {
    // Ctrl-C can be pressed twice.
    if (!stop.signal.aborted) console.error("\nStopping …");
    stop.abort(new CommandError("Nothing was changed."));
  };
  process.on("SIGINT", interrupt);
  try {
    return await act(stop.signal);
  } finally {
    process.off("SIGINT", interrupt);
  }
};

/** Reads the file, and reports names that an object has twice. */
const readDocument = async (file: string) => {
  const subject = file === "-" ? "Standard input" : file;
  try {
    const bytes = file === "-" ? await buffer(process.stdin) : await readFile(file);
    // Otherwise, names in another encoding would be stored with replacement characters.
    if (!isUtf8(bytes)) throw new CommandError(`${subject} is not UTF-8: convert it.`);
    // The decoder removes a byte order mark.
    const text = new TextDecoder().decode(bytes);
    const document: unknown = JSON.parse(text);
    return { document, problems: repeatedNames(text) };
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    const advice = "pass an existing file, or - for standard input.";
    if (code === "ENOENT") throw new CommandError(`There is no file ${file}: ${advice}`);
    if (code === "EISDIR") throw new CommandError(`${file} is a directory: ${advice}`);
    if (!(error instanceof SyntaxError)) throw error;
    throw new CommandError(`${subject} is not JSON: ${messageOf(error)}`);
  }
};
