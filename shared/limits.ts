/** Every limit of the interface, for code, OpenAPI and docs/limits.md. Lengths are in Unicode code points, sizes in bytes. */
export const limits = {
  nameLength: 255,
  notesLength: 4_000,
  filenameLength: 255,
  endpoints: 10,
  endpointLength: 2_048,
  identityLength: 255,
  secretLength: 1_024,
  pageSize: { default: 50, max: 100 },
  /** The most requests in the `forwarding` of an order's attachment. An order can have thousands. */
  forwardingRequests: 100,
  /** Longer than any cursor and any useful `include`. */
  queryLength: 255,
  /** The largest file in a form. Encoded in base64, it fits into a 6 MB event with the other parts. MAX_FILE_BYTES overrides it. */
  fileBytes: 4_600_000,
  /** The largest file of a direct upload (see functions/README.md). MAX_UPLOAD_BYTES can lower it. */
  uploadBytes: 104_857_600,
  /** How long the URL of a direct upload is valid, and how long an attachment can be created from the upload. */
  uploadSeconds: 60 * 60,
  /** More than any JSON body of the interface needs, even if every character is escaped. */
  jsonBytes: 1_048_576,
  /** Enough for every part that the interface defines, and for some unknown ones. `headerBytes` is for all parts together. */
  form: { parts: 100, headerBytes: 32_768 },
  /** An Idempotency-Key. `characters` is a regular expression for visible ASCII. */
  idempotencyKey: { length: 255, characters: "[\\x21-\\x7e]" },
  idempotencySeconds: 24 * 60 * 60,
  /** Levels of an account tree, the root included. */
  accountLevels: 8,
  /**
   * Limits of the file of `patchbay apply`. They are the number of a user's permissions, and the lengths of a permission and of a
   * date and time.
   */
  permissions: 1_000,
  permissionLength: 255,
  dateTimeLength: 64,
  labelLength: 100,
  onBehalfOfLength: 255,
} as const;

/**
 * Lambda's limit on a response, whose JSON escapes the body again.
 * Source: https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html
 */
export const lambdaResponseBytes = 6_291_556;

/** The most problems or warnings that a response to a file of `patchbay apply` has. A file can have a hundred thousand. */
export const maxProblems = 1_000;

/** How many days back the table can be restored, and a deleted file be brought back. DynamoDB's maximum. */
export const recoveryDays = 35;

/** Names of carriers. */
export const carrierNames = /^(?=.*\S)\P{Cc}{1,64}$/u;
