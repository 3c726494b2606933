/** Describes a stack's template in plain text that a reviewer can compare. docs/deployed.txt explains itself at its top. */

export type Plain = string | number | boolean | null | readonly Plain[] | PlainObject;
export type PlainObject = { readonly [name: string]: Plain };

type Resource = PlainObject & { readonly Type: string };
export type Template = {
  readonly Resources: Readonly<Record<string, Resource>>;
  readonly Outputs: Readonly<Record<string, { readonly Value: Plain }>>;
};

type Described = { readonly kind: string; readonly properties: PlainObject };
export type Description = ReadonlyMap<string, Described>;

const isList = (value: Plain | undefined): value is readonly Plain[] => Array.isArray(value);
const isObject = (value: Plain | undefined): value is PlainObject =>
  typeof value === "object" && value !== null && !isList(value);
const listOf = (value: Plain = []): readonly Plain[] => (isList(value) ? value : [value]);

/** Values that the description abbreviates or omits. */
type Known = { readonly stackName: string; readonly tags: PlainObject };

/** Describes the resources of a template. A resource's name is its place in the tree of constructs below the stack. */
export const describe = ({ Resources, Outputs }: Template, { stackName, tags }: Known): Description => {
  const simplifyingWith = (find: (id: string) => string) => simplifying(find, stackName, inline(tags));
  const names = new Map(Object.entries(Resources).map(([id, resource]) => [id, nameOf(resource, stackName) ?? id]));
  const functions = Object.entries(Resources).flatMap(([id, { Type }]) =>
    Type === "AWS::Lambda::Function" ? (names.get(id) ?? []) : [],
  );
  const resources = Object.entries(Resources).map(([id, resource]) => {
    const { Type: _type, Metadata: _metadata, Properties = {}, DependsOn = [], ...attributes } = resource;
    const name = names.get(id) ?? id;
    const owner = functions.find((each) => new RegExp(`^${each}($|/|-role$)`).test(name)) ?? "";
    const own = new RegExp(`^${owner || "$"}(?=$|/|-role$)`);
    const simplify = simplifyingWith((other) => (names.get(other) ?? other).replace(own, "@"));
    const properties = simplify({
      ...(isObject(Properties) && Properties),
      ...(listOf(DependsOn).length > 0 && { DependsOn: dependencies(listOf(DependsOn), id, Resources) }),
      ...attributes,
    });
    return [name, { kind: kindOf(resource), properties: isObject(properties) ? properties : {} }] as const;
  });
  const simplify = simplifyingWith((id) => names.get(id) ?? id);
  const outputs = Object.entries(Outputs).map(
    ([name, { Value }]) => [`output ${name}`, { kind: "", properties: { Value: simplify(Value) } }] as const,
  );
  return new Map([...resources.sort(([a], [b]) => (a < b ? -1 : 1)), ...outputs]);
};

const nameOf = ({ Type, Metadata }: Resource, stackName: string): string | undefined => {
  // The path of a restored table contains the table's name.
  if (Type === "AWS::DynamoDB::Table") return "Table";
  const path = isObject(Metadata) ? Metadata["aws:cdk:path"] : undefined;
  if (typeof path !== "string") return undefined;
  // CDK adds the stack's name and a hash to some names, to make them unique.
  return path
    .replace(/^[^/]+\/|[.:][^/]*[0-9A-F]{8}[^/]*(?=\/Resource$|$)|\/Resource$|[0-9A-F]{8}$/g, "")
    .replace(stackName.replaceAll("-", ""), "");
};

/** A resource's type. API methods with and without a function differ too much to be one type. */
const kindOf = ({ Type, Properties = {} }: Resource) => {
  const integration = isObject(Properties) ? (Properties.Integration ?? {}) : {};
  const type = Type.replace("AWS::", "");
  return isObject(integration) && integration.Type ? `${type} ${integration.Type}` : type;
};

/** The resources that one depends on. If these are all others of a type with more than five resources, the type replaces them. */
const dependencies = (ids: readonly Plain[], own: string, resources: Template["Resources"]): readonly Plain[] => {
  const byType = Object.groupBy(Object.entries(resources), ([, { Type }]) => Type);
  const whole = Object.entries(byType).filter(
    ([, all = []]) => all.length > 5 && all.every(([id]) => id === own || ids.includes(id)),
  );
  const covered = new Set(whole.flatMap(([, all = []]) => all.map(([id]) => id)));
  const single = ids.filter((id) => typeof id !== "string" || !covered.has(id));
  return [...whole.map(([type]) => `every ${type.replace("AWS::", "")}`), ...single.map((id) => ({ Ref: id }))];
};

const partsOfStatement = ["Effect", "Principal", "Action", "Resource", "Condition", "Sid"];

/** Replaces references with names, JSON texts with their content, and policy statements with sentences. */
const simplifying = (find: (id: string) => string, stackName: string, tags: string) => {
  const reference = (text: string) => `\${${text}}`;
  const textOf = (value: Plain) => (typeof value === "string" ? value : inline(value));
  const simplify = (value: Plain): Plain => {
    if (typeof value === "string") return simplifyText(value);
    if (isList(value)) return nameTags(simplifyList(value.map(simplify)));
    if (!isObject(value)) return value;
    const [[name = "", argument = null] = [], ...others] = Object.entries(value);
    if (others.length === 0 && name === "Ref") return reference(find(String(argument)));
    if (others.length === 0 && name.startsWith("Fn::")) return simplifyCall(name.slice(4), argument);
    if ("Effect" in value && Object.keys(value).every((key) => partsOfStatement.includes(key))) return sentence(value);
    const { Statement, Version, ...rest } = value;
    if (isList(Statement ?? null) && Version === "2012-10-17" && Object.keys(rest).length === 0)
      return simplify(Statement ?? null);
    return nameTags(Object.fromEntries(Object.entries(value).map(([key, each]) => [key, simplify(each)])));
  };
  const nameTags = (value: Plain) => (inline(value) === tags ? "<tags>" : value);
  const simplifyCall = (name: string, argument: Plain): Plain => {
    const [first = null, second = null] = listOf(argument);
    if (name === "GetAtt") return reference(`${find(String(first))}.${second}`);
    if (name === "Sub" && typeof argument === "string") return simplifyText(argument);
    if (name === "Join" && first === "") return simplifyText(listOf(second).map(simplify).map(textOf).join(""));
    return reference(`${name}(${listOf(argument).map(simplify).map(textOf).join(", ")})`);
  };
  const sentence = ({ Effect = null, Principal, Action, Resource, Condition = {} }: PlainObject) => {
    const list = (value: Plain = []) => listOf(simplify(value)).map(textOf).join(", ");
    const who = isObject(Principal ?? null) ? Object.entries(Principal ?? {}) : [["", Principal ?? []] as const];
    const principals = who.map(([kind, names]) => `${kind} ${list(names)}`.trim()).join(", ");
    const conditions = Object.entries(Condition ?? {}).flatMap(([operator, keys]) =>
      Object.entries(isObject(keys) ? keys : {}).map(([key, values]) => `${operator} ${key} ${list(values)}`),
    );
    return [
      `${Effect} ${principals && `${principals}: `}${list(Action)}`,
      ...(Resource === undefined ? [] : [`on ${list(Resource)}`]),
      ...(conditions.length > 0 ? [`where ${conditions.join(" and ")}`] : []),
    ].join(" ");
  };
  const simplifyText = (text: string): Plain => {
    if (!/^\{.*\}$/s.test(text)) return text.replaceAll(/[0-9a-f]{64}/g, "<hash>").replaceAll(stackName, "<stack>");
    try {
      return simplify(JSON.parse(text));
    } catch {
      return text;
    }
  };
  return simplify;
};

/** Converts a list of names and values, or of policies with names, to an object. */
const simplifyList = (list: readonly Plain[]): Plain => {
  const entries = list.map((each) => {
    const { Name, Key, Value, PolicyName, PolicyDocument, ...others } = isObject(each) ? each : { other: true };
    const name = Name ?? Key ?? PolicyName;
    const value = Value ?? PolicyDocument;
    return (
      typeof name === "string" && value !== undefined && Object.keys(others).length === 0 && ([name, value] as const)
    );
  });
  const named = entries.filter((entry) => entry !== false);
  return named.length === list.length && list.length > 0 ? Object.fromEntries(named) : list;
};

const hasProperties = (value: Plain): value is PlainObject => isObject(value) && Object.keys(value).length > 0;

/** The values in an object by their paths, such as `Environment.Variables.TABLE_NAME`. */
const leaves = (object: PlainObject, path = ""): [path: string, value: Plain][] =>
  Object.entries(object).flatMap(([name, value]) =>
    hasProperties(value) ? leaves(value, `${path}${name}.`) : [[`${path}${name}`, value] satisfies [string, Plain]],
  );

type Values = ReadonlyMap<string, Plain>;

const none = "(none)";

/** The shortest paths below which an object has none of these values. */
const lacking = (object: PlainObject, values: Values): readonly string[] => {
  const found = leaves(object).map(([path]) => `${path}.`);
  const missing = [...values.keys()].flatMap((path) => {
    const parts = path.split(".");
    const beginnings = parts.map((_, index) => parts.slice(0, index + 1).join("."));
    return beginnings.find((beginning) => !found.some((each) => each.startsWith(`${beginning}.`))) ?? [];
  });
  return [...new Set(missing)];
};

/** The properties of an object that differ from these values, and the paths that it lacks. */
const except = (object: PlainObject, values: Values): PlainObject => ({
  ...differing(object, values, ""),
  ...Object.fromEntries(lacking(object, values).map((path) => [path, none])),
});
const differing = (object: PlainObject, values: Values, path: string): PlainObject =>
  Object.fromEntries(
    Object.entries(object).flatMap(([name, value]): [string, Plain][] => {
      const here = `${path}${name}`;
      if (!hasProperties(value)) return inline(values.get(here)) === inline(value) ? [] : [[name, value]];
      const rest = differing(value, values, `${here}.`);
      return hasProperties(rest) ? [[name, rest]] : [];
    }),
  );

/** The values that most of these resources have. */
const commonOf = (resources: readonly Described[]): Values => {
  const all = resources.flatMap(({ properties }) => leaves(properties));
  const byValue = Map.groupBy(all, ([path, value]) => `${path} ${inline(value)}`);
  return new Map([...byValue.values()].flatMap((same) => (same.length > resources.length / 2 ? same.slice(0, 1) : [])));
};

const isQuoted = (text: string) => /^$|^\s|\s$|[,:;] |["{}[\]]|^(true|false|null|-?[\d.]+)$/.test(text);

const inline = (value: Plain | undefined): string => {
  if (isList(value)) return `[${value.map(inline).join(", ")}]`;
  if (isObject(value)) return `{${pairs(value)}}`;
  const isUnclear = typeof value === "string" && isQuoted(value.replaceAll(/\$\{([^{}]|\{\w+\})*\}/g, "x"));
  return isUnclear ? JSON.stringify(value) : String(value);
};
const pairs = (object: PlainObject) =>
  Object.entries(object)
    .map(([name, value]) => `${name}: ${inline(value)}`)
    .join(", ");

const width = 180;

/** Prints a property in one line, or in one line per part if it is too long. */
const print = (name: string, value: Plain, indent: string): string[] => {
  const [[key = "", only = null] = [], ...others] = isObject(value) ? Object.entries(value) : [];
  if (key && others.length === 0) return print(`${name}.${key}`, only, indent);
  const label = `${indent}${name}:`;
  const line = `${label} ${inline(value)}`;
  if (line.length <= width || !(isList(value) || isObject(value))) return [line];
  if (isObject(value))
    return [label, ...Object.entries(value).flatMap(([part, each]) => print(part, each, `${indent}  `))];
  return [label, ...value.map((each) => `${indent}  - ${typeof each === "string" ? each : inline(each)}`)];
};

/** Prints properties in one line, or in one line each if they are too long. */
const printAll = (title: string, properties: PlainObject): string[] => {
  const line = `${title} ${pairs(properties)}`.trim();
  if (line.length <= width) return [line];
  return [title, ...Object.entries(properties).flatMap(([name, value]) => print(name, value, "  "))];
};

const titleOf = (name: string, kind: string) => (kind ? `${name} (${kind})` : name);
const byKind = (description: Description) => Map.groupBy(description.values(), ({ kind }) => kind);

/** The common values of each kind that has at least three resources. */
const commonByKind = (description: Description): ReadonlyMap<string, Values> =>
  new Map([...byKind(description)].map(([kind, all]) => [kind, all.length > 2 ? commonOf(all) : new Map()] as const));

/** What follows from the routes and the functions, and has no setting of its own. */
const derived =
  /^(ApiGateway::(Deployment|Method .*|Resource)|CodeDeploy::DeploymentGroup|Lambda::(Alias|Permission|Version))$/;

/** What the page leaves out of a resource, because its source is easier to read: infra/aws/operations.ts and workflow.ts. */
const sources = ["DashboardBody", "DefinitionString"];

/**
 * Lists each resource with the properties that differ from the common values of its kind. Of derived resources, it states only their
 * number.
 */
export const pageOf = (all: Description): readonly string[] => {
  const numbers = [...byKind(all)].flatMap(([kind, { length }]) => (derived.test(kind) ? `${length} ${kind}` : []));
  const shown = [...all].filter(([, { kind }]) => !derived.test(kind));
  const description = new Map(
    shown.map(([name, { kind, properties }]) => {
      const own = Object.entries(properties).filter(([property]) => !sources.includes(property));
      return [name, { kind, properties: Object.fromEntries(own) }] as const;
    }),
  );
  const common = commonByKind(description);
  const shared = [...common].flatMap(([kind, values]) =>
    values.size > 0 ? printAll(`every ${kind}`, Object.fromEntries(values)) : [],
  );
  const resources = [...description].flatMap(([name, { kind, properties }]) =>
    printAll(titleOf(name, kind), except(properties, common.get(kind) ?? new Map())),
  );
  return [...numbers.sort(), "", ...shared, "", ...resources];
};
