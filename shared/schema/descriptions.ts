/** What a domain contributes to the OpenAPI document besides its schemas. No function loads it. */
export type Descriptions = {
  /** The section of the reference for each type of resource. */
  readonly tags: Readonly<Record<string, { readonly name: string; readonly description: string }>>;
  /** Each property of requests and responses, by its name; `Schema.name` is the property of that schema only. */
  readonly properties: Readonly<Record<string, string>>;
  /** Query parameters other than those of every list. */
  readonly query?: Readonly<Record<string, string>>;
  /** Names of schemas that several properties or resources share, by the names that they would get by themselves. */
  readonly schemaNames?: Readonly<Record<string, string>>;
};

/** The properties that the documents of every domain have. */
export const envelopeProperties = {
  id: "The unique identifier, a ULID.",
  type: "The type of the document.",
  data: "The properties of the document.",
  associations: "The documents that this document is associated with.",
  inserted_at: "When it was created.",
  updated_at: "When it was last changed.",
} as const satisfies Descriptions["properties"];
