import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import * as z from "zod/mini";
import { openapi } from "../../../infra/openapi/document.ts";
import { documents, listOf } from "../../../infra/openapi/documents.ts";
import { ErrorBody } from "../../../infra/openapi/error-body.ts";
import { exampleOf } from "../../../infra/openapi/examples/by-route.ts";
import { operationId } from "../../../infra/openapi/names.ts";
import { refusalsOf } from "../../../infra/openapi/refusals.ts";
import { env } from "../../../shared/env.ts";
import { errorCodes } from "../../../shared/errors.ts";
import { limits as serviceLimits } from "../../../shared/limits.ts";
import { routes } from "../../../shared/routes.ts";
import { check } from "../../../shared/schema/check.ts";

const Media = z.object({ examples: z.record(z.string(), z.object({ value: z.unknown() })) });
const Response = z.object({ content: z.object({ "application/json": Media }) });
const Reference = z.object({ $ref: z.string() });
const Operation = z.looseObject({
  operationId: z.string(),
  parameters: z.array(Reference),
  requestBody: z.optional(z.object({ content: z.record(z.string(), Media) })),
  responses: z.record(z.string(), z.union([Reference, Response])),
});
const Document = z.object({
  paths: z.record(z.string(), z.record(z.string(), Operation)),
  components: z.looseObject({ responses: z.record(z.string(), Response) }),
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
  if (!found) throw new Error(`nothing at ${response.$ref}`);
  return found;
};

const examplesOf = (response: Parameters<typeof responseOf>[0]) =>
  Object.values(responseOf(response).content["application/json"].examples).map(({ value }) => value);

describe("openapi.json", () => {
  it("is what `npm run openapi` writes", () => {
    const committed = readFileSync(join(import.meta.dirname, "../../../openapi.json"), "utf8");
    expect(committed, "run `npm run openapi` and commit openapi.json").toBe(`${JSON.stringify(openapi(), null, 2)}\n`);
  });

  it("has one operation for each route, each under an id of its own", () => {
    expect(operations).toHaveLength(routes.length);
    expect(routes.map((route) => operationOf(route).operationId)).toEqual(routes.map(operationId));
    expect(new Set(routes.map(operationId)).size).toBe(routes.length);
  });

  it("names the parameters of each operation", () => {
    for (const route of routes) {
      const names = operationOf(route).parameters.map(({ $ref }) => $ref.replace("#/components/parameters/", ""));
      const expected = [
        ...[...route.path.matchAll(/\{(\w+)\}/g)].map(() => expect.stringMatching(/Id$/)),
        ...(route.operation === "index" ? ["First", "After", "Last", "Before"] : []),
        ...(route.method === "POST" ? ["IdempotencyKey"] : []),
        ...(["PATCH", "DELETE"].includes(route.method) ? ["IfMatch"] : []),
      ];
      expect(names, route.name).toEqual(expected);
    }
  });

  it("describes every property", () => {
    const undescribed = (value: unknown, at: string): string[] => {
      if (Array.isArray(value)) return value.flatMap((inner, index) => undescribed(inner, `${at}/${index}`));
      const object = z.safeParse(z.record(z.string(), z.unknown()), value).data ?? {};
      const own = z.safeParse(z.record(z.string(), z.looseObject({})), object.properties).data ?? {};
      const here = Object.keys(own).filter((name) => typeof own[name]?.description !== "string");
      const below = Object.entries(object).flatMap(([name, inner]) => undescribed(inner, `${at}/${name}`));
      return [...here.map((name) => `${at}: ${name}`), ...below];
    };
    expect(undescribed(openapi().components.schemas, "")).toEqual([]);
  });
});

describe("the errors of openapi.json", () => {
  it("are those of the catalogue, each code at its own status and somewhere", () => {
    const statusOf = new Map(errorCodes.map(({ code, status }) => [code, status]));
    const seen = new Set<string>();
    for (const { responses } of operations)
      for (const [status, response] of Object.entries(responses).filter(([status]) => status >= "400"))
        for (const example of examplesOf(response)) {
          const body = z.parse(ErrorBody, example);
          expect(body).toEqual(example);
          for (const { code } of body.errors) {
            expect(statusOf.get(code)).toBe(Number(status));
            seen.add(code);
          }
        }
    expect([...seen].sort()).toEqual([...statusOf.keys()].sort());
  });

  it("name the limits that the service has", () => {
    const limits = routes.flatMap((route) =>
      refusalsOf(route)
        .filter(({ code }) => code === "payload_too_large")
        .map(({ error }) => [route.reads.from, error.body.errors[0]?.params?.limit_bytes]),
    );
    const actual = { form: env.maxFileBytes(), json: serviceLimits.jsonBytes };
    expect(Object.fromEntries(limits)).toEqual(actual);
  });

  it.each(routes.map((route) => [route.name, route] as const))("of %s are all that it can answer", (_, route) => {
    const takesBody = route.reads.from === "form" || route.reads.from === "json";
    const looksUp = route.path.includes("{");
    const expected = [
      ...["401", "403"],
      ...(looksUp ? ["404"] : []),
      ...(["PATCH", "DELETE"].includes(route.method) ? ["412"] : []),
      ...(takesBody ? ["413", "415"] : []),
      ...(route.reads.from === "nothing" ? [] : ["422"]),
      ...["429", "500", "503"],
    ];
    expect(Object.keys(operationOf(route).responses)).toEqual([String(route.status), ...expected]);
  });
});

describe.each(routes.map((route) => [route.name, route] as const))("the examples of %s", (_, route) => {
  it("answer what the schema of the answer describes, nothing more", () => {
    const document = documents[route.resource];
    const schema = route.operation === "index" ? listOf(document) : document;
    const examples = examplesOf(operationOf(route).responses[String(route.status)] ?? { $ref: "" });
    expect(examples.length).toBeGreaterThan(0);
    for (const example of examples) expect(z.parse(schema, example)).toEqual(example);
  });

  it("send what the service reads", () => {
    const { reads } = route;
    const bodies = Object.values(operationOf(route).requestBody?.content ?? {}).flatMap(({ examples }) =>
      Object.values(examples).map(({ value }) => value),
    );
    expect(bodies).toEqual(reads.from === "form" || reads.from === "json" ? [exampleOf(route).body] : []);
    if (reads.from === "json")
      for (const body of bodies) expect(check(reads.schema, body, "body").faults).toBeUndefined();
  });
});
