import * as z from "zod/mini";
import type { Problem } from "../errors.ts";
import { check, pointer } from "../schema/check.ts";
import { nonBlankText } from "../schema/fields.ts";
import { OrderState } from "./schema.ts";

/** A name in the same file, or the id of something that exists. */
const Reference = nonBlankText(255);

/** An entry's own id, for files that are applied repeatedly. */
const OwnId = z.optional(
  z.string().check(z.regex(/^[0-7][0-9A-HJKMNP-TV-Za-hjkmnp-tv-z]{25}$/, { error: "must be a ULID" }), z.toUpperCase()),
);

const DateTime = z.iso.datetime({ offset: true, error: "must be an ISO 8601 date and time, with Z or an offset" });

const Sha256 = z.string().check(z.regex(/^[0-9a-f]{64}$/, { error: "must be a SHA-256 in lower-case hex" }));

const noFeatures = { ordering_attachment_access: false };

/**
 * A file may come from a system with permissions that this version does not know yet, so any text without spaces is
 * accepted. The other commands of the CLI accept only known permissions.
 */
const Permission = z.string().check(z.regex(/^[!-~]{1,255}$/, { error: "must be a text without spaces" }));

const entrySchemas = {
  accounts: z.strictObject({
    id: OwnId,
    name: nonBlankText(255),
    parent: z.optional(z.nullable(Reference)),
    features: z._default(z.strictObject({ ordering_attachment_access: z._default(z.boolean(), false) }), noFeatures),
  }),
  users: z.strictObject({
    id: OwnId,
    account: Reference,
    permissions: z._default(z.array(Permission).check(z.maxLength(1000)), []),
    disabled: z._default(z.boolean(), false),
  }),
  keys: z.strictObject({
    id: OwnId,
    account: Reference,
    user: z.nullable(Reference),
    expires_at: z._default(z.nullable(DateTime), null),
    revoked: z._default(z.boolean(), false),
    sha256: z.optional(Sha256),
  }),
  orders: z.strictObject({ id: OwnId, account: Reference, state: z._default(OrderState, "CART") }),
  requests: z.strictObject({
    id: OwnId,
    order: Reference,
    account: z.optional(Reference),
    type: nonBlankText(255),
  }),
};

export type SectionName = keyof typeof entrySchemas;
export type Entry<S extends SectionName> = z.output<(typeof entrySchemas)[S]>;

const section = <T extends z.core.$ZodType>(entry: T) => z._default(z.record(z.string(), entry), {});

/** The file of `admin apply`: accounts, users, API keys, orders and requests, each under a name that the file chooses. */
const TenantsDocument = z.strictObject({
  $schema: z.optional(z.string()),
  accounts: section(entrySchemas.accounts),
  users: section(entrySchemas.users),
  keys: section(entrySchemas.keys),
  orders: section(entrySchemas.orders),
  requests: section(entrySchemas.requests),
});

/** The JSON Schema of the file of `admin apply`. */
export const tenantsJsonSchema = () => ({
  title: "The file of `admin apply`",
  description:
    "Accounts, users, API keys, orders and requests, each under a name of the file's own. A reference (account, parent, user, order) is such a name, or the id of something that exists.",
  ...z.toJSONSchema(TenantsDocument, { io: "input" }),
});

/** One section of a file: all entries by name, unparsed, and the well-formed ones, parsed. */
export type Section<T> = {
  readonly raw: ReadonlyMap<string, unknown>;
  readonly entries: ReadonlyMap<string, T>;
};
export type TenantsFile = { readonly [S in SectionName]: Section<Entry<S>> };

const Properties = z.record(z.string(), z.unknown());

/**
 * Parses a file entry by entry, so that the problems of one entry do not hide those of others. The sections are maps, so
 * that any name works, even `__proto__`.
 */
export const readTenantsFile = (document: unknown): { file: TenantsFile; problems: readonly Problem[] } => {
  const problems: Problem[] = [];
  const propertiesOf = (value: unknown, path: readonly string[]): [string, unknown][] => {
    const { problems: wrong } = check(Properties, value, "body");
    for (const { pointer: inner, ...problem } of wrong ?? [])
      problems.push({ ...problem, pointer: pointer(path) + inner });
    return wrong || typeof value !== "object" || value === null ? [] : Object.entries(value);
  };
  const sections = new Map(propertiesOf(document, []));
  const read = <S extends z.core.$ZodType>(name: SectionName, schema: S): Section<z.output<S>> => {
    const raw = new Map(sections.has(name) ? propertiesOf(sections.get(name), [name]) : []);
    const entries = new Map<string, z.output<S>>();
    for (const [key, value] of raw) {
      const checked = check(schema, value, "body");
      if (checked.problems)
        problems.push(
          ...checked.problems.map((problem) => ({ ...problem, pointer: pointer([name, key]) + problem.pointer })),
        );
      else entries.set(key, checked.value);
    }
    return { raw, entries };
  };
  const { accounts, users, keys, orders, requests } = entrySchemas;
  const file = {
    accounts: read("accounts", accounts),
    users: read("users", users),
    keys: read("keys", keys),
    orders: read("orders", orders),
    requests: read("requests", requests),
  };
  const unknown = [...sections.keys()].filter((name) => name !== "$schema" && !Object.hasOwn(entrySchemas, name));
  if (unknown.length > 0)
    problems.push({
      in: "body",
      pointer: "",
      sub_code: "constraint.enum",
      detail: `has unknown properties: ${unknown.join(", ")}`,
    });
  return { file, problems };
};
