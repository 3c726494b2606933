/** The texts that a domain contributes to the OpenAPI document besides its schemas. No function loads this file. */
export type Descriptions = {
  /** The section of the API reference for each type of resource. */
  readonly tags: Readonly<Record<string, { readonly name: string; readonly description: string }>>;
  /**
   * Descriptions of the properties of requests and responses, by name. `Schema.name` describes the property of that
   * schema only.
   */
  readonly properties: Readonly<Record<string, string>>;
  /** Query parameters besides those of every list. */
  readonly query?: Readonly<Record<string, string>>;
  /** Names for schemas that several properties or resources share, by the names that would be generated for them. */
  readonly schemaNames?: Readonly<Record<string, string>>;
};

/** Properties of every domain's documents. */
export const envelopeProperties = {
  id: "The unique identifier, a ULID.",
  type: "The type of the document.",
  data: "The properties of the document.",
  associations: "The documents that this document is associated with.",
  inserted_at: "When it was created.",
  updated_at: "When it was last changed.",
} as const satisfies Descriptions["properties"];
