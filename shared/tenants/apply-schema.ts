import * as z from "zod/mini";
import { type Problem, problemIn } from "../errors.ts";
import { limits } from "../limits.ts";
import { check, pointer, unknownProperties } from "../schema/check.ts";
import { Name, nameText, nonBlankText, OnBehalfOf } from "../schema/fields.ts";
import { OrderState } from "./tenant-schema.ts";

/** A name in the same file, or the id of something that exists. */
const Reference = z.optional(nonBlankText(limits.nameLength));

/** An entry's own id. The entry changes the resource with this id, if it exists. */
const OwnId = z.optional(
  z
    .string()
    .check(
      z.regex(/^(?!0{26}$)[0-7][0-9A-HJKMNP-TV-Za-hjkmnp-tv-z]{25}$/, { error: "must be a ULID" }),
      z.toUpperCase(),
    ),
);

const DateTime = z.iso
  .datetime({ offset: true, error: "must be an ISO 8601 date and time, with Z or an offset" })
  .check(z.maxLength(limits.dateTimeLength));

const Sha256 = z.string().check(z.regex(/^[0-9a-f]{64}$/, { error: "must be a SHA-256 in lower-case hex" }));

/** Any text without spaces is allowed, because the file may come from a system with permissions that this version does not use. */
const Permission = z
  .string()
  .check(z.maxLength(limits.permissionLength), z.regex(/^[!-~]+$/, { error: "must be a text without spaces" }));

/** Every property is optional. The properties that an entry leaves out keep their values. */
export const entrySchemas = {
  accounts: z.strictObject({
    id: OwnId,
    name: z.optional(Name),
    parent: z.optional(z.nullable(nonBlankText(limits.nameLength))),
    features: z.optional(z.strictObject({ ordering_attachment_access: z.optional(z.boolean()) })),
  }),
  users: z.strictObject({
    id: OwnId,
    account: Reference,
    permissions: z.optional(z.array(Permission).check(z.maxLength(limits.permissions))),
    disabled: z.optional(z.boolean()),
  }),
  keys: z.strictObject({
    id: OwnId,
    account: Reference,
    user: z.optional(z.nullable(nonBlankText(limits.nameLength))),
    label: z.optional(z.nullable(nameText(limits.labelLength))),
    expires_at: z.optional(z.nullable(DateTime)),
    revoked: z.optional(z.boolean()),
    replaced_by: Reference,
    sha256: z.optional(Sha256),
  }),
  orders: z.strictObject({ id: OwnId, account: Reference, state: z.optional(OrderState) }),
  requests: z.strictObject({
    id: OwnId,
    order: Reference,
    account: Reference,
    type: z.optional(nonBlankText(limits.nameLength)),
  }),
};

export type SectionName = keyof typeof entrySchemas;
export type Entry<S extends SectionName> = z.output<(typeof entrySchemas)[S]>;

export const sectionNames = ["accounts", "users", "keys", "orders", "requests"] as const satisfies SectionName[];

/** The resource types of the entries, as in events. */
export const entryTypes = {
  accounts: "account",
  users: "user",
  keys: "api_key",
  orders: "order",
  requests: "request",
} as const satisfies Record<SectionName, string>;

/** The properties that an entry must have if it creates something. */
export const requiredProperties = {
  accounts: ["name"],
  users: ["account"],
  keys: ["account", "user"],
  orders: ["account"],
  requests: ["order", "type"],
} as const satisfies Record<SectionName, readonly string[]>;

/** The JSON Schema of the file of `patchbay apply`. It cannot express whether the resource with an id or a hash exists. */
export const tenantsJsonSchema = () => ({
  $schema: "https://json-schema.org/draft/2020-12/schema",
  title: "The file of `patchbay apply`",
  description:
    "Accounts, users, API keys, orders and requests, each under a name of the file's own. A reference (account, parent, user, order) is such a name, or the id of something that exists. An entry whose id exists changes it, and leaves what it does not name.",
  type: "object",
  properties: {
    $schema: { type: "string" },
    dry_run: { type: "boolean", description: "Write nothing, and return what would be written." },
    on_behalf_of: {
      type: "string",
      minLength: 1,
      maxLength: limits.onBehalfOfLength,
      description: "For whom the changes are made: their events have it.",
    },
    ...Object.fromEntries(sectionNames.map((name) => [name, sectionSchema(name)])),
  },
  additionalProperties: false,
});

const sectionSchema = (name: SectionName) => {
  const { $schema: _, ...entry } = z.toJSONSchema(entrySchemas[name], { io: "input" });
  const changes = name === "keys" ? ["id", "sha256"] : ["id"];
  const anyOf = [requiredProperties[name], ...changes.map((by) => [by])].map((required) => ({ required }));
  return { type: "object", additionalProperties: { ...entry, anyOf } };
};

/** An entry of a file as it was sent and, if it is well-formed, as it was parsed. */
export type Sent<E> = { readonly raw: Properties; readonly entry: E | undefined };
type Properties = Readonly<Record<string, unknown>>;

/** The sections of a file. They are maps, so that an entry can have any name, even `__proto__`. */
export type TenantsFile = { readonly [S in SectionName]: ReadonlyMap<string, Sent<Entry<S>>> };

const Properties = z.record(z.string(), z.unknown());

export const isDryRun = (document: unknown): boolean =>
  z.safeParse(z.object({ dry_run: z.literal(true) }), document).success;

/** Parses entry by entry, so that no problem hides another. Reports a section that is not allowed as one problem, without reading it. */
export const parseFile = (document: unknown, allowed: readonly SectionName[]) => {
  const problems: Problem[] = [];
  const parse = <S extends z.core.$ZodType>(schema: S, value: unknown, path: readonly string[]) => {
    const checked = check(schema, value, "body");
    for (const problem of checked.problems ?? [])
      problems.push({ ...problem, pointer: pointer(path) + problem.pointer });
    return checked.value;
  };
  const properties = (value: unknown, path: readonly string[]) =>
    parse(Properties, value, path) && typeof value === "object" ? Object.entries(value ?? {}) : [];
  const sections = new Map<string, unknown>(properties(document, []));
  const maximum = limits.nameLength;
  const tooLong = `has a name of more than ${maximum} characters`;
  const section = <S extends z.core.$ZodType>(name: SectionName, schema: S) => {
    const entries = new Map<string, Sent<z.output<S>>>();
    for (const [key, value] of properties((allowed.includes(name) ? sections.get(name) : undefined) ?? {}, [name]))
      if ([...key].length > maximum)
        problems.push(problemIn("body", pointer([name]), "constraint.length", tooLong, { maximum }));
      else
        entries.set(key, { raw: z.safeParse(Properties, value).data ?? {}, entry: parse(schema, value, [name, key]) });
    return entries;
  };
  const file: TenantsFile = {
    accounts: section("accounts", entrySchemas.accounts),
    users: section("users", entrySchemas.users),
    keys: section("keys", entrySchemas.keys),
    orders: section("orders", entrySchemas.orders),
    requests: section("requests", entrySchemas.requests),
  };
  const dryRun = parse(z.optional(z.boolean()), sections.get("dry_run"), ["dry_run"]) ?? false;
  const onBehalfOf = parse(z.optional(OnBehalfOf), sections.get("on_behalf_of"), ["on_behalf_of"]);
  const forbidden = sectionNames.filter((name) => sections.has(name) && !allowed.includes(name));
  const misplaced = `can't be in this file, which may have ${allowed.join(" and ")} only`;
  for (const name of forbidden)
    problems.push(problemIn("body", pointer([name]), "constraint.enum", misplaced, { allowed }));
  const known: readonly string[] = ["$schema", "dry_run", "on_behalf_of", ...sectionNames];
  const unknown = [...sections.keys()].filter((name) => !known.includes(name));
  if (unknown.length > 0) problems.push({ in: "body", pointer: "", ...unknownProperties(unknown, known) });
  return { file, dryRun, onBehalfOf, problems };
};
