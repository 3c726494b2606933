import * as z from "zod/mini";
import type { Problem } from "../errors.ts";
import { limits } from "../limits.ts";
import { pointer } from "../schema/check.ts";
import { newId, parseUlid } from "../schema/fields.ts";
import { type Key, keys } from "../table/keys.ts";
import { getMany, parseItem } from "../table/read.ts";
import { type Entry, entryTypes, type SectionName, type Sent, sectionNames, type TenantsFile } from "./apply-schema.ts";
import { Account, ApiKey, Order, Request, User } from "./tenant-schema.ts";

/** The properties that are references, and the section that each refers to. */
const referenceProperties = {
  accounts: { parent: "accounts" },
  users: { account: "accounts" },
  keys: { account: "accounts", user: "users", replaced_by: "keys" },
  orders: { account: "accounts" },
  requests: { order: "orders", account: "accounts" },
} as const satisfies Record<SectionName, Record<string, SectionName>>;

type Path = readonly string[];
type Reference = { readonly path: Path; readonly to: SectionName; readonly text: string };

/** Returns every reference of a file, including those of malformed entries. */
const referencesIn = (file: TenantsFile): Reference[] =>
  sectionNames.flatMap((section) =>
    [...file[section]].flatMap(([name, { raw }]) =>
      Object.entries(referenceProperties[section]).flatMap(([property, to]) => {
        const value = raw[property];
        const text = typeof value === "string" ? value.trim() : "";
        return text === "" || [...text].length > limits.nameLength
          ? []
          : [{ path: [section, name, property], to, text }];
      }),
    ),
  );

const idIn = ({ raw }: Sent<unknown>) => (typeof raw.id === "string" ? parseUlid(raw.id) : undefined);

const readAll = async <S extends z.core.$ZodType>(schema: S, ids: readonly string[], keyOf: (id: string) => Key) => {
  const unique = [...new Set(ids)];
  const items = await getMany(unique.map(keyOf));
  return new Map(unique.flatMap((id, index) => (items[index] ? [[id, parseItem(schema, items[index])] as const] : [])));
};

const KeyId = z.object({ sha256: z.string() });
/** The latest run of an order's checkout. An order that was created as CHECKED_OUT has none. */
const Run = z.object({ status: z.string(), failure: z.nullable(z.string()) });

type Stored = Awaited<ReturnType<typeof readStored>>;

/** Reads everything that the file names by an id or a hash. API keys are found by their ids and their hashes. */
const readStored = async (file: TenantsFile, references: readonly Reference[]) => {
  const named = (section: SectionName) => [
    ...references.filter(({ to }) => to === section).flatMap(({ text }) => parseUlid(text) ?? []),
    ...[...file[section].values()].flatMap((sent) => idIn(sent) ?? []),
  ];
  const [users, orders, requests, keyIds] = await Promise.all([
    readAll(User, named("users"), keys.user),
    readAll(Order, named("orders"), keys.order),
    readAll(Request, named("requests"), keys.request),
    readAll(KeyId, named("keys"), keys.apiKeyId),
  ]);
  const owners = [...users.values(), ...orders.values()].map(({ account }) => account);
  const hashes = [...file.keys.values()].flatMap(({ entry }) => entry?.sha256 ?? []);
  const [runs, accounts, byHash] = await Promise.all([
    readAll(Run, [...orders.keys()], keys.checkout),
    readAll(Account, [...named("accounts"), ...owners], keys.account),
    readAll(ApiKey, [...hashes, ...[...keyIds.values()].map(({ sha256 }) => sha256)], keys.apiKey),
  ]);
  const apiKeys = [...byHash].flatMap(([sha256, key]) =>
    [sha256, key.id].map((by) => [by, { ...key, sha256 }] as const),
  );
  return { accounts, users, keys: new Map(apiKeys), orders, requests, runs };
};

type SubCode = `constraint.${"immutable" | "required" | "reference" | "unique"}`;
type ReportProblem = (path: Path, detail: string, sub_code?: SubCode) => void;

/** A file whose references are resolved. A name in the file takes precedence over the id of something that exists. */
export type Resolved = Awaited<ReturnType<typeof resolve>>;

/** Reads everything that a file refers to. Adds references that cannot be resolved to `problems`. */
export const resolve = async (file: TenantsFile, problems: Problem[]) => {
  const report: ReportProblem = (path, detail, sub_code) => {
    problems.push({ in: "body", pointer: pointer(path), sub_code: sub_code ?? "constraint.format", detail });
  };
  const references = referencesIn(file);
  const stored = await readStored(file, references);
  reportDuplicates(file, stored, report);
  // `ids` has pointers of section and name as keys, `names` has pointers of section and id.
  const [ids, names] = [new Map<string, string>(), new Map<string, string>()];
  for (const section of sectionNames)
    for (const [name, sent] of file[section]) {
      const id = knownId(section, sent, stored) ?? newId();
      ids.set(pointer([section, name]), id);
      names.set(pointer([section, id]), name);
    }
  const idOf = (section: SectionName, name: string): string => ids.get(pointer([section, name])) ?? "";
  const nameOf = (section: SectionName, reference: string) =>
    file[section].has(reference) ? reference : names.get(pointer([section, reference.toUpperCase()]));
  for (const { path, to, text } of references)
    if (nameOf(to, text) === undefined && !stored[to].has(text.toUpperCase()))
      report(path, `there is no ${entryTypes[to]} ${text}`, "constraint.reference");
  const account = accountResolver({ file, stored, idOf, nameOf, report });
  const idBehind = (section: SectionName, reference: string) => {
    const name = nameOf(section, reference);
    return name === undefined ? reference.toUpperCase() : idOf(section, name);
  };
  /** Returns the account of a user or an order. */
  const ownerOf = (section: "users" | "orders", reference: string): NewAccount | undefined => {
    const item = stored[section].get(idBehind(section, reference));
    const entry = file[section].get(nameOf(section, reference) ?? "")?.entry;
    if (item) return stored.accounts.get(item.account);
    return entry?.account === undefined ? undefined : account(entry.account);
  };
  const order = (reference: string) => {
    const id = idBehind("orders", reference);
    const entry = file.orders.get(nameOf("orders", reference) ?? "")?.entry;
    const state = stored.orders.get(id)?.state ?? entry?.state ?? "CART";
    const isSubmitted = state === "CHECKED_OUT" && stored.runs.has(id);
    return { id, account: ownerOf("orders", reference), state, isSubmitted };
  };
  return { report, stored, idOf, idBehind, ownerOf, account, order };
};

type Lookups = {
  readonly file: TenantsFile;
  readonly stored: Stored;
  readonly idOf: (section: SectionName, name: string) => string;
  readonly nameOf: (section: SectionName, reference: string) => string | undefined;
  readonly report: ReportProblem;
};

export type NewAccount = Omit<Account, "version" | "updated_at">;

/** A file can have a chain of a hundred thousand new accounts. Resolving it recursively would exceed the stack. */
const maxDepth = 100;

/** Returns a function that finds an account in the table or in the file. For any other, which is reported, it returns undefined. */
const accountResolver = ({ file, stored, idOf, nameOf, report }: Lookups) => {
  const resolved = new Map<string, NewAccount | undefined>();
  const open = new Set<string>();
  const account = (reference: string, depth = 0): NewAccount | undefined => {
    const name = nameOf("accounts", reference);
    const existing = stored.accounts.get(name === undefined ? reference.toUpperCase() : idOf("accounts", name));
    if (existing || name === undefined) return existing;
    if (!resolved.has(name)) resolved.set(name, newAccount(name, file.accounts.get(name)?.entry, depth));
    return resolved.get(name);
  };
  const newAccount = (name: string, entry: Entry<"accounts"> | undefined, depth: number): NewAccount | undefined => {
    const path = ["accounts", name, "parent"];
    if (open.has(name)) report(path, "makes the account its own ancestor");
    if (open.has(name) || !entry) return undefined;
    open.add(name);
    const isTooDeep = depth === maxDepth;
    const parent = entry.parent && !isTooDeep ? account(entry.parent, depth + 1) : undefined;
    // In a chain of many accounts, all ancestors of each would take memory that grows with the square of its length.
    const ancestors = parent ? [...parent.ancestors, parent.id].slice(0, limits.accountLevels) : [];
    if (isTooDeep || ancestors.length >= limits.accountLevels)
      report(path, `makes a tree of more than ${limits.accountLevels} levels`);
    const features = { ordering_attachment_access: entry.features?.ordering_attachment_access ?? false };
    return { id: idOf("accounts", name), name: entry.name ?? "", ancestors, features };
  };
  return account;
};

/**
 * Returns an entry's own id or, for the hash of a stored API key, that key's id. Returns undefined for an entry that gets a new
 * one.
 */
const knownId = (section: SectionName, sent: Sent<unknown>, stored: Stored): string | undefined =>
  idIn(sent) ?? (section === "keys" ? stored.keys.get(String(sent.raw.sha256))?.id : undefined);

/** Reports ids and hashes that two entries of a section share. */
const reportDuplicates = (file: TenantsFile, stored: Stored, report: ReportProblem) => {
  for (const section of sectionNames) {
    const names = new Map<unknown, string>();
    for (const [name, sent] of file[section]) {
      const { sha256 } = sent.raw;
      const id = knownId(section, sent, stored);
      for (const [property, value] of Object.entries({ id, sha256 })) {
        const other = names.get(value);
        if (value !== undefined && other !== undefined)
          report([section, name, property], `duplicates the ${property} of ${other}`, "constraint.unique");
        names.set(value, name);
      }
    }
  }
};
