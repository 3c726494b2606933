import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import * as z from "zod/mini";
import { openapi } from "../../../infra/openapi/document.ts";
import { ErrorDocument } from "../../../infra/openapi/error-examples.ts";
import { fileOf, operationId } from "../../../infra/openapi/names.ts";
import { componentsOf, responseSchema } from "../../../infra/openapi/schemas.ts";
import { createUploadRoutes, updateAttachmentRoutes } from "../../../shared/attachments/routes.ts";
import { errorCodes } from "../../../shared/errors.ts";
import { routes } from "../../../shared/routes.ts";
import { check } from "../../../shared/schema/check.ts";
import { switchProblems } from "../../../shared/switches/switch-schema.ts";

const Media = z.looseObject({ examples: z.optional(z.record(z.string(), z.object({ value: z.unknown() }))) });
const Link = z.object({ operationId: z.string(), parameters: z.record(z.string(), z.string()) });
const Response = z.object({
  links: z.optional(z.record(z.string(), Link)),
  content: z.object({ "application/json": Media }),
});
const WithoutBody = z.strictObject({ description: z.string(), headers: z.record(z.string(), z.unknown()) });
const Reference = z.object({ $ref: z.string() });
const Operation = z.looseObject({
  operationId: z.string(),
  parameters: z.array(Reference),
  requestBody: z.optional(z.object({ content: z.record(z.string(), Media) })),
  responses: z.record(z.string(), z.union([Reference, Response])),
});
const Document = z.object({
  paths: z.record(z.string(), z.record(z.string(), Operation)),
  components: z.looseObject({ responses: z.record(z.string(), z.union([Response, WithoutBody])) }),
});

const { paths, components } = z.parse(Document, openapi());
const operations = Object.values(paths).flatMap((path) => Object.values(path));

const operationOf = ({ path, method }: (typeof routes)[number]) => {
  const operation = paths[path]?.[method.toLowerCase()];
  if (!operation) throw new Error(`no ${method} ${path}`);
  return operation;
};

const responseOf = (response: z.infer<typeof Reference> | z.infer<typeof Response>) => {
  if ("content" in response) return response;
  const found = components.responses[response.$ref.split("/").at(-1) ?? ""];
  if (!found || !("content" in found)) throw new Error(`no body at ${response.$ref}`);
  return found;
};

const examplesOf = (response: Parameters<typeof responseOf>[0]) =>
  Object.values(responseOf(response).content["application/json"].examples ?? {}).map(({ value }) => value);

/** Every schema in the document, nested ones included, with its place. */
const schemasBelow = (value: unknown, at: string): { at: string; schema: Record<string, unknown> }[] => {
  if (Array.isArray(value)) return value.flatMap((inner, index) => schemasBelow(inner, `${at}/${index}`));
  const object = z.safeParse(z.record(z.string(), z.unknown()), value).data;
  if (!object) return [];
  return [
    { at, schema: object },
    ...Object.entries(object).flatMap(([name, inner]) => schemasBelow(inner, `${at}/${name}`)),
  ];
};

describe("openapi.json", () => {
  it("equals the output of `npm run openapi`", () => {
    const committed = readFileSync(join(import.meta.dirname, "../../../openapi.json"), "utf8");
    expect(committed, "run `npm run openapi` and commit openapi.json").toBe(`${JSON.stringify(openapi(), null, 2)}\n`);
  });

  it("describes every object", () => {
    const undescribed = schemasBelow(openapi().components.schemas, "").filter(
      ({ at, schema }) => schema.type === "object" && at.split("/").length === 2 && !schema.description,
    );
    expect(undescribed.map(({ at }) => at)).toEqual([]);
  });

  it("describes every property", () => {
    const Properties = z.record(z.string(), z.looseObject({}));
    const undescribed = schemasBelow(openapi().components.schemas, "").flatMap(({ at, schema }) => {
      const own = Object.entries(z.safeParse(Properties, schema.properties).data ?? {});
      return own.filter(([, { description }]) => typeof description !== "string").map(([name]) => `${at}: ${name}`);
    });
    expect(undescribed).toEqual([]);
  });

  it("says which texts differ where two schemas have one name", () => {
    const { add } = componentsOf("schemas");
    const actor = (id: string) => ({ type: "object", properties: { id: { type: "string", description: id } } });
    add("ApiKeyActor", actor("The id of the key."));
    expect(() => add("ApiKeyActor", actor("A ULID."))).toThrow(
      expect.objectContaining({
        message: "Two different schemas are named ApiKeyActor.",
        cause: expect.objectContaining({ message: expect.stringMatching(/: 'The id of the key\.',?.*: 'A ULID\.'/s) }),
      }),
    );
  });
});

it("functions/README.md has each name that a caller sends, each header and each error code of openapi.json", () => {
  const { schemas, parameters, headers } = openapi().components;
  const Parameter = z.object({ in: z.string(), name: z.string() });
  const propertiesOf = (name: string) =>
    Object.keys(z.parse(z.looseObject({ properties: z.record(z.string(), z.unknown()) }), schemas[name]).properties);
  const names = [
    ...Object.values(parameters).flatMap((one) => {
      const parameter = z.parse(Parameter, one);
      return parameter.in === "path" ? [] : [parameter.name];
    }),
    ...propertiesOf("RequestAttachmentCreate"),
    ...propertiesOf("UploadCreateData"),
    ...propertiesOf("SwitchCreateData").filter((name) => name.startsWith("sms_")),
    ...propertiesOf("RequestAttachmentAssociations"),
    ...propertiesOf("SwitchAssociations"),
    ...Object.keys(headers),
    ...errorCodes.map(({ code }) => code),
  ];
  const readme = readFileSync(join(import.meta.dirname, "../../../functions/README.md"), "utf8");
  const quoted = new Set([...readme.matchAll(/`[^`]+`/g)].flatMap(([text]) => text.match(/[\w.[\]-]+/g) ?? []));
  const isSaid = (name: string) => quoted.has(name) || quoted.has(name.replace(/^data\[(\w+)\]$/, "$1"));
  expect([...new Set(names)].filter((name) => !isSaid(name))).toEqual([]);
});

describe("openapi.json, as generators read it", () => {
  const { schemas, parameters } = openapi().components;
  const schemaNamed = (name: string) =>
    z.parse(z.looseObject({ properties: z.record(z.string(), z.unknown()) }), schemas[name]);

  it("has a name for every enum and for every object with properties, but in forms, which have no references", () => {
    const nameless = Object.entries(schemas).flatMap(([name, schema]) =>
      schemasBelow(schema, name)
        .filter(({ at }) => at.includes("/") && !at.endsWith("/properties") && !/\/data\[\w+\]$/.test(at))
        .filter(
          ({ schema: { enum: values, properties } }) => (Array.isArray(values) && values.length > 1) || properties,
        )
        .map(({ at }) => at),
    );
    expect(nameless).toEqual([]);
    const inOperations = schemasBelow(paths, "").filter(
      ({ at, schema }) => at.endsWith("/schema") && (schema.properties || schema.enum),
    );
    expect(inOperations.map(({ at }) => at)).toEqual([]);
  });

  it("uses no name of a language, a Go constructor or an operation's types", () => {
    const names = Object.keys(schemas);
    const operationTypes = operations.flatMap(({ operationId: id }) => {
      const base = id.slice(0, 1).toUpperCase() + id.slice(1);
      return ["", "Data", "Error", "Errors", "Response", "Responses"].map((suffix) => base + suffix);
    });
    const reserved = [...operationTypes, "Switch", "Object", "Type"];
    const isReserved = (name: string) => name in globalThis || /^New[A-Z]/.test(name) || reserved.includes(name);
    expect(names.filter(isReserved)).toEqual([]);
  });

  it("has an example of each part of a form but the file, and of each parameter that is required or does no harm", () => {
    const Value = z.record(z.string(), z.looseObject({}));
    const withoutExample = (all: unknown) =>
      Object.entries(z.parse(Value, all)).flatMap(([name, { example }]) => (example === undefined ? [name] : []));
    expect(withoutExample(schemaNamed("RequestAttachmentCreate").properties)).toEqual(["data[file]"]);
    expect(withoutExample(schemaNamed("OrderAttachmentCreate").properties)).toEqual(["data[file]"]);
    const sentByChoice = ["After", "Before", "IdempotencyKey", "IfMatch", "IfNoneMatch", "Last", "ReferenceId"];
    expect(withoutExample(parameters)).toEqual(sentByChoice);
  });

  it("has an enum beside each constant, and no reference in a form", () => {
    const constants = schemasBelow(schemas, "").filter(({ schema }) => schema.const !== undefined);
    expect(constants.length).toBeGreaterThan(10);
    for (const { at, schema } of constants) expect(schema.enum, at).toEqual([schema.const]);
    for (const name of ["RequestAttachmentCreate", "OrderAttachmentCreate"])
      expect(JSON.stringify(schemas[name]), name).not.toContain("$ref");
  });

  it("has nothing that ogen cannot generate or decode: two patterns of a property, an object of nothing, a part's encoding", () => {
    const isUnusable = (schema: Record<string, unknown>) =>
      ["allOf", "encoding"].some((keyword) => keyword in schema) ||
      ([schema.type].flat().includes("object") && !schema.properties && schema.additionalProperties === undefined);
    const unusable = schemasBelow(openapi(), "").filter(({ schema }) => isUnusable(schema));
    expect(unusable.map(({ at }) => at)).toEqual([]);
  });

  it("has no default, which openapi-typescript takes for a required property, no escaped slash, which openapi-zod-client escapes again, and a short name for the server", () => {
    const all = schemasBelow(schemas, "");
    expect(all.filter(({ schema }) => schema.default !== undefined).map(({ at }) => at)).toEqual([]);
    const patterns = schemasBelow(openapi(), "").flatMap(({ schema: { pattern } }) => pattern ?? []);
    expect(patterns.length).toBeGreaterThan(10);
    expect(patterns.filter((pattern) => /(^|[^\\])(\\\\)*\\\//.test(String(pattern)))).toEqual([]);
    expect(openapi().servers).toEqual([expect.objectContaining({ description: "Local or deployed" })]);
  });

  it("describes exactly the values of `include` that the service accepts", () => {
    const texts = ["file", "forwarding", "account", "file,forwarding", "forwarding,file", "account,account"];
    for (const route of routes) {
      if (route.reads.from !== "query") continue;
      const { schema } = route.reads;
      const [reference] = operationOf(route).parameters.filter(({ $ref }) => $ref.includes("/Include"));
      if (!reference) continue;
      const Text = z.object({ schema: z.object({ type: z.literal("string"), pattern: z.string() }) });
      const { pattern } = z.parse(Text, parameters[reference.$ref.split("/").at(-1) ?? ""]).schema;
      for (const text of [...texts, "", ",", "file,", ",file", "file forwarding", "files", "File"])
        expect(new RegExp(pattern).test(text), `${route.name}: ${text}`).toBe(
          check(schema, { include: text }, "query").problems === undefined,
        );
    }
  });

  it("describes the characters that the service accepts", () => {
    const Text = z.object({ pattern: z.string() });
    const matches = (schema: string, property: string, text: string) =>
      new RegExp(z.parse(Text, schemaNamed(schema).properties[property]).pattern).test(text);
    const upload = { filename: "loa.pdf", bytes: 1, sha256: "0f".repeat(32) };
    const names = [
      "a",
      "ä.pdf",
      ".",
      "..",
      "...",
      "a.",
      ".a",
      ". ",
      " .",
      ". .",
      " ",
      "\u2003",
      "a\t",
      "\n",
      " a b\r\n",
      "a\nb",
    ];
    const barred = ["a/b", "a\\b", "a\u202eb", "\u200f", "a\u0000", "\u007fa", "a\u009f", "\u061c a"];
    const bodyOf = (property: string, text: string) => ({ type: "upload", data: { ...upload, [property]: text } });
    const named = (property: string, text: string) => ({ type: "request_attachment", data: { [property]: text } });
    for (const [schema, property, { reads }, body, values] of [
      [
        "UploadCreateData",
        "sha256",
        createUploadRoutes.request,
        bodyOf,
        ["0f".repeat(32), "0F".repeat(32), "0g".repeat(32), "0f".repeat(31)],
      ],
      ["UploadCreateData", "filename", createUploadRoutes.request, bodyOf, [...names, ...barred]],
      ["AttachmentUpdateData", "name", updateAttachmentRoutes.request, named, [...names, ...barred]],
      [
        "AttachmentUpdateData",
        "notes",
        updateAttachmentRoutes.request,
        named,
        ["", ...names, ...barred, "a\u000bb", "a\u000cb"],
      ],
    ] as const)
      for (const text of values)
        expect(matches(schema, property, text), `${property}: ${JSON.stringify(text)}`).toBe(
          check<z.core.$ZodType>(reads.schema, body(property, text), "body").problems === undefined,
        );
    for (const property of ["sms_identity", "sms_secret", "mms_identity", "mms_secret"])
      for (const text of ["patchbay", "", "ä:\t", "a\nb", "a\r", "\u0000"])
        expect(matches("SwitchCreateData", property, text), `${property}: ${JSON.stringify(text)}`).toBe(
          switchProblems({ name: "Main", [property]: text }).length === 0,
        );
  });

  it("has one pattern for a property at most, without escaped slashes, which openapi-zod-client escapes again", () => {
    const patterns = schemasBelow(openapi(), "").flatMap(({ schema: { pattern } }) =>
      typeof pattern === "string" ? [pattern] : [],
    );
    expect(patterns.length).toBeGreaterThan(10);
    expect(patterns.filter((pattern) => pattern.replaceAll(/\\[^/]/g, "").includes("\\/"))).toEqual([]);
    expect(schemasBelow(openapi(), "").filter(({ schema }) => "allOf" in schema)).toEqual([]);
  });

  it("has only patterns that Rust, Go and Python compile, and read as JavaScript does", () => {
    const patterns = schemasBelow(openapi(), "").flatMap(({ schema: { pattern } }) =>
      typeof pattern === "string" ? [pattern] : [],
    );
    // Elsewhere, \w, \d and \b are Unicode's. Rust and Go have neither lookarounds nor backreferences.
    const foreign = /\\[wWdDbBpP1-9]|\(\?(?!:)/;
    // Rust repeats the automaton. 127 times that of all Unicode letters exceeds its limit.
    const large = /(\[\^(?:\\.|[^\]\\])*\]|(?<!\\)\.|\\[sS])\{|\{\d*,?\d{4}/;
    expect(patterns.length).toBeGreaterThan(10);
    expect(patterns.filter((pattern) => foreign.test(pattern) || large.test(pattern))).toEqual([]);
    for (const refused of ["^\\w+$", "^(?!a)", "(a)\\1", "^[^a]{1,127}$", "^.{2}$", "^a{1,1001}$"])
      expect(foreign.test(refused) || large.test(refused), refused).toBe(true);
  });

  it("links every create to the operations on its result", () => {
    for (const route of routes.filter((each) => each.operation === "create" && each.document === each.resource)) {
      const { links = {} } = responseOf(operationOf(route).responses["201"] ?? { $ref: "" });
      const onOne = routes.filter(({ resource, on }) => resource === route.resource && on === "item");
      expect(Object.keys(links).sort(), route.name).toEqual(onOne.map(fileOf).sort());
      for (const [name, { operationId: id, parameters: given }] of Object.entries(links)) {
        const target = onOne.find((each) => operationId(each) === id);
        expect(target && fileOf(target), route.name).toBe(name);
        const needed = [...(target?.path ?? "").matchAll(/\{(\w+)\}/g)].map(([, parameter]) => parameter);
        expect(Object.keys(given), id).toEqual(needed);
        expect(given[needed.at(-1) ?? ""], id).toBe("$response.body#/data/id");
      }
    }
  });

  it("is written in plain English", () => {
    const texts = schemasBelow(openapi(), "").flatMap(({ at, schema: { summary, description } }) =>
      [summary, description].filter((text) => typeof text === "string").map((text) => `${at}: ${text}`),
    );
    expect(texts.length).toBeGreaterThan(100);
    // Values in backticks and the places of texts are names, not prose.
    const prose = texts.map((text) => text.replaceAll(/`[^`]*`|^\/\S+: /g, ""));
    expect(prose.filter((text) => /\b(answer\w*|told|away|refused|holds|judged)\b/i.test(text))).toEqual([]);
  });
});

describe("the errors of openapi.json", () => {
  it("are only those that their operation can return", () => {
    for (const route of routes) {
      const { path, parent, permission, reads } = route;
      const examples = Object.entries(operationOf(route).responses)
        .filter(([status]) => status >= "400")
        .flatMap(([, response]) => examplesOf(response).flatMap((body) => z.parse(ErrorDocument, body).errors));
      const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => name);
      const ofCode = (code: string) => examples.filter((error) => error.code === code);
      const missing = ofCode("not_found").map(({ params }) => params?.resource?.type ?? "");
      expect(missing, route.name).toHaveLength(inPath.length);
      for (const [nth, name] of inPath.entries())
        expect(`${missing[nth]}_id`, route.name).toMatch(new RegExp(`(^|_)${name}$`));
      const isOfOrder = parent === "request" || parent === "order";
      expect(ofCode("access_denied.ordering_attachment_access"), route.name).toHaveLength(isOfOrder ? 1 : 0);
      const permissions = ofCode("access_denied.permission").map(({ params }) => params?.permission);
      const ofParent = { request: "ordering_cart_requests:show", order: "ordering_carts:show", account: permission };
      expect(new Set(permissions), route.name).toEqual(new Set([permission, parent ? ofParent[parent] : permission]));
      const expected = { form: ["multipart/form-data"], json: ["application/json"], query: [], nothing: [] }[
        reads.from
      ];
      expect(ofCode("unsupported_media_type").map(({ params }) => params?.expected)).toEqual(expected);
      expect(ofCode("payload_too_large"), route.name).toHaveLength(expected.length);
      expect(ofCode("precondition_failed"), route.name).toHaveLength(route.on === "item" ? 1 : 0);
    }
  });

  it("are shared by the operations where they do not differ", () => {
    const referenced = new Map<string, Set<string>>();
    for (const { responses } of operations)
      for (const [status, response] of Object.entries(responses).filter(([status]) => status >= "400"))
        referenced.set(status, (referenced.get(status) ?? new Set()).add("$ref" in response ? response.$ref : "own"));
    const own = [...referenced].filter(([, names]) => names.has("own"));
    expect(own.map(([status]) => status)).toEqual(["403", "404", "413", "415", "422"]);
    expect([...referenced].filter(([, { size }]) => size > 1)).toEqual([]);
  });

  it("are those of the catalogue, each under its own status", () => {
    const statusOf = new Map(errorCodes.map(({ code, status }) => [code, status]));
    const seen = new Set<string>();
    for (const { responses } of operations)
      for (const [status, response] of Object.entries(responses).filter(([status]) => status >= "400"))
        for (const example of examplesOf(response)) {
          const body = z.parse(ErrorDocument, example);
          expect(body).toEqual(example);
          for (const { code } of body.errors) {
            // The gateway's 400 uses the code of a body that cannot be read.
            expect(statusOf.get(code)).toBe(status === "400" ? 422 : Number(status));
            seen.add(code);
          }
        }
    expect([...seen].sort()).toEqual([...statusOf.keys()].sort());
  });
});

it.each(routes.map((route) => [route.name, route] as const))(
  "the examples of %s are that of its request, and responses that match their schema exactly",
  (_, route) => {
    const { requestBody, responses } = operationOf(route);
    const bodies = Object.values(requestBody?.content ?? {}).flatMap(({ examples = {} }) => Object.values(examples));
    expect(bodies.map(({ value }) => value)).toEqual(route.reads.from === "json" ? [route.docs.body] : []);
    const examples = examplesOf(responses[String(route.status)] ?? { $ref: "" });
    expect(examples.length).toBeGreaterThan(0);
    for (const example of examples) expect(z.parse(responseSchema(route), example)).toEqual(example);
  },
);
