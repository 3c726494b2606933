/**
 * Every limit of the interface. Schemas, the middleware, OpenAPI and the tables of limits in the documentation read
 * them from here. Lengths are in Unicode code points, sizes in bytes.
 */
export const limits = {
  nameLength: 255,
  notesLength: 4_000,
  filenameLength: 255,
  endpoints: 10,
  endpointLength: 2_048,
  identityLength: 255,
  secretLength: 1_024,
  /** Items of a page: by default, and at most. */
  pageSize: { default: 50, most: 100 },
  /** What a 6 MB event can carry as base64, with room for the rest of it. MAX_FILE_BYTES sets another limit. */
  fileBytes: 4_600_000,
  /** A file that is sent to storage directly: see functions/README.md. MAX_UPLOAD_BYTES sets a lower limit. */
  uploadBytes: 104_857_600,
  /** How long the address of a direct upload is valid, and how long an attachment can be created from it. */
  uploadSeconds: 60 * 60,
  /** More than any JSON document of the interface needs, however its characters are escaped. */
  jsonBytes: 1_048_576,
  /** More than every part that the interface knows, and some that it does not. */
  form: { parts: 100, fieldBytes: 65_536, headerPairs: 20, headerBytes: 16_384 },
  /** An Idempotency-Key: visible ASCII, as a regular expression. */
  idempotencyKey: { length: 255, characters: "[\\x21-\\x7e]" },
  idempotencySeconds: 24 * 60 * 60,
  /** Levels of an account tree, the root included. */
  accountLevels: 8,
} as const;
