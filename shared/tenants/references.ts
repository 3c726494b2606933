import * as z from "zod/mini";
import type { Problem } from "../errors.ts";
import { limits } from "../limits.ts";
import { pointer } from "../schema/check.ts";
import { newId, parseUlid } from "../schema/fields.ts";
import { type Key, keys } from "../table/keys.ts";
import { getMany, parseItem } from "../table/read.ts";
import type { SectionName, TenantsFile } from "./file.ts";
import { Account, ApiKey, Order, Request, User } from "./schema.ts";

type Path = readonly string[];

/** The properties that are references, and the section that each refers to. */
const referenceProperties = {
  accounts: { parent: "accounts" },
  users: { account: "accounts" },
  keys: { account: "accounts", user: "users" },
  orders: { account: "accounts" },
  requests: { order: "orders", account: "accounts" },
} as const satisfies Record<SectionName, Record<string, SectionName>>;

const sectionNames = ["accounts", "users", "keys", "orders", "requests"] as const;

const nouns = { accounts: "account", users: "user", keys: "key", orders: "order", requests: "request" } as const;

type Reference = { readonly path: Path; readonly kind: SectionName; readonly text: string };

const Properties = z.record(z.string(), z.unknown());

/** Returns every reference of a file, including those of malformed entries. */
const referencesIn = (file: TenantsFile): Reference[] =>
  sectionNames.flatMap((section) =>
    [...file[section].raw].flatMap(([name, entry]) => {
      const { data: properties = {} } = z.safeParse(Properties, entry);
      return Object.entries(referenceProperties[section]).flatMap(([property, kind]) => {
        const value = properties[property];
        const text = typeof value === "string" ? value.trim() : "";
        return text === "" ? [] : [{ path: [section, name, property], kind, text }];
      });
    }),
  );

type ReportProblem = (path: Path, detail: string, sub_code?: "constraint.format" | "constraint.immutable") => void;

/** Resolves the references of a tenants file: names in the file first, then ids of existing items. */
export type References = Awaited<ReturnType<typeof resolveReferences>>;

/** Reads everything that the file refers to by id once. Collects references that cannot be resolved in `problems`. */
export const resolveReferences = async (file: TenantsFile) => {
  const problems: Problem[] = [];
  const report: ReportProblem = (path, detail, sub_code = "constraint.format") => {
    problems.push({ in: "body", pointer: pointer(path), sub_code, detail });
  };
  const references = referencesIn(file);
  const existing = await readExisting(file, references);
  const ids = ownIds(file, report);
  refuseSharedHashes(file, report);
  refuseUnknown(file, references, existing, report);
  const names = namesById(file, ids);
  const idOf = (section: SectionName, name: string) => ids[section].get(name) ?? "";
  /** Returns the name in the file that a reference resolves to, or undefined if it can only be in the table. */
  const nameOf = (section: SectionName, reference: string) =>
    file[section].raw.has(reference) ? reference : names[section].get(reference.toUpperCase());

  const account = accountResolver({ file, existing, idOf, nameOf, report });
  /** Returns the id and the account of a user or an order, in the file or in the table. */
  const userOrOrder = (section: "users" | "orders", reference: string) => {
    const name = nameOf(section, reference);
    const entry = name === undefined ? undefined : file[section].entries.get(name);
    if (name !== undefined) return entry && { id: idOf(section, name), account: account(entry.account) };
    const stored = existing[section].get(reference.toUpperCase());
    return stored && { id: stored.id, account: existing.accounts.get(stored.account) };
  };

  /** The existing orders in `CART`. */
  const carts = [...existing.orders.values()].filter(({ state }) => state === "CART").map(({ id }) => id);

  return { problems, report, idOf, account, userOrOrder, existing, carts };
};

type Lookups = {
  readonly file: TenantsFile;
  readonly existing: Existing;
  readonly idOf: (section: SectionName, name: string) => string;
  readonly nameOf: (section: SectionName, reference: string) => string | undefined;
  readonly report: ReportProblem;
};

/** Finds an account in the file or in the table. Returns undefined if that is not possible, which is then reported. */
const accountResolver = ({ file, existing, idOf, nameOf, report }: Lookups) => {
  const resolved = new Map<string, Account | undefined>();
  const open = new Set<string>();
  const account = (reference: string): Account | undefined => {
    const name = nameOf("accounts", reference);
    if (name === undefined) return existing.accounts.get(reference.toUpperCase());
    if (!resolved.has(name)) resolved.set(name, fileAccount(name));
    return resolved.get(name);
  };
  const fileAccount = (name: string): Account | undefined => {
    const entry = file.accounts.entries.get(name);
    if (!entry) return undefined;
    const path = ["accounts", name, "parent"];
    if (open.has(name)) {
      report(path, "makes the account its own ancestor");
      return undefined;
    }
    open.add(name);
    const parent = entry.parent ? account(entry.parent) : undefined;
    const ancestors = parent ? [...parent.ancestors, parent.id] : [];
    if (ancestors.length >= limits.accountLevels)
      report(path, `makes a tree of more than ${limits.accountLevels} levels`);
    return { id: idOf("accounts", name), name: entry.name, ancestors, features: entry.features, switch_count: 0 };
  };
  return account;
};

/** Reports each reference to something that is neither in the file nor in the table. */
const refuseUnknown = (
  file: TenantsFile,
  references: readonly Reference[],
  existing: Existing,
  report: ReportProblem,
) => {
  const idsOf = new Map(sectionNames.map((section) => [section, rawIds(file[section].raw)]));
  for (const { path, kind, text } of references) {
    const known = file[kind].raw.has(text) || idsOf.get(kind)?.has(text.toUpperCase());
    if (!known && !existing.has(kind, text.toUpperCase())) report(path, `there is no ${nouns[kind]} ${text}`);
  }
};

/** Returns the ids of entries, well-formed or not: references to malformed entries are not reported. */
const rawIds = (raw: ReadonlyMap<string, unknown>): ReadonlySet<string> =>
  new Set(
    [...raw.values()].flatMap((entry) => {
      const { data } = z.safeParse(z.object({ id: z.string() }), entry);
      return data ? [data.id.toUpperCase()] : [];
    }),
  );

type Ids = Readonly<Record<SectionName, ReadonlyMap<string, string>>>;

const bySection = (of: (section: SectionName) => ReadonlyMap<string, string>): Ids => ({
  accounts: of("accounts"),
  users: of("users"),
  keys: of("keys"),
  orders: of("orders"),
  requests: of("requests"),
});

/** Returns the id of each entry: its own or a new one. Reports ids that two entries have. */
const ownIds = (file: TenantsFile, report: ReportProblem): Ids => {
  const of = (section: SectionName) => {
    const names = new Map<string, string>();
    return new Map(
      [...file[section].entries].map(([name, { id = newId() }]) => {
        const other = names.get(id);
        if (other !== undefined) report([section, name, "id"], `is the id of ${other}, too`);
        names.set(id, name);
        return [name, id];
      }),
    );
  };
  return bySection(of);
};

const refuseSharedHashes = (file: TenantsFile, report: ReportProblem) => {
  const names = new Map<string, string>();
  for (const [name, { sha256 }] of file.keys.entries) {
    if (sha256 === undefined) continue;
    const other = names.get(sha256);
    if (other !== undefined) report(["keys", name, "sha256"], `is the sha256 of ${other}, too`);
    names.set(sha256, name);
  }
};

const namesById = (file: TenantsFile, ids: Ids): Ids => {
  const of = (section: SectionName) =>
    new Map([...file[section].entries.keys()].map((name) => [ids[section].get(name) ?? "", name]));
  return bySection(of);
};

type Existing = Awaited<ReturnType<typeof readExisting>>;

/** Reads everything that the file refers to, and its entries that have an id, from the table. */
const readExisting = async (file: TenantsFile, references: readonly Reference[]) => {
  const idsOf = (kind: SectionName) => [
    ...references.filter((one) => one.kind === kind).flatMap(({ text }) => parseUlid(text) ?? []),
    ...[...file[kind].entries.values()].flatMap(({ id }) => id ?? []),
  ];
  const [orders, users] = [
    await readAll(Order, idsOf("orders"), keys.order),
    await readAll(User, idsOf("users"), keys.user),
  ];
  const owners = [...orders.values(), ...users.values()].map(({ account }) => account);
  const accounts = await readAll(Account, [...idsOf("accounts"), ...owners], keys.account);
  const requests = await readAll(Request, idsOf("requests"), keys.request);
  const apiKeys = await readKeys(file);
  const byKind = { accounts, users, keys: apiKeys, orders, requests };
  return { ...byKind, has: (kind: SectionName, id: string) => byKind[kind].has(id) };
};

type ExistingKey = ApiKey & { readonly sha256: string };

const KeyId = z.object({ sha256: z.string() });

/** Returns the API keys whose id or SHA-256 is in the file, by both. */
const readKeys = async (file: TenantsFile): Promise<ReadonlyMap<string, ExistingKey>> => {
  const entries = [...file.keys.entries.values()];
  const byId = await readAll(
    KeyId,
    entries.flatMap(({ id }) => id ?? []),
    keys.apiKeyId,
  );
  const hashes = [...entries.flatMap(({ sha256 }) => sha256 ?? []), ...[...byId.values()].map(({ sha256 }) => sha256)];
  const stored = await readAll(ApiKey, hashes, keys.apiKey);
  return new Map(
    [...stored].flatMap(([sha256, key]) => [
      [sha256, { ...key, sha256 }],
      [key.id, { ...key, sha256 }],
    ]),
  );
};

const readAll = async <S extends z.core.$ZodType>(schema: S, ids: readonly string[], keyOf: (id: string) => Key) => {
  const unique = [...new Set(ids)];
  const items = await getMany(unique.map(keyOf));
  const found = new Map<string, z.output<S>>();
  for (const [index, id] of unique.entries()) if (items[index]) found.set(id, parseItem(schema, items[index]));
  return found;
};
