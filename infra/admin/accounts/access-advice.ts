/** The remedies that `patchbay access` prints for a refusal. */

type Refusal = {
  /** The failed check, and its subject, such as an id or a permission. */
  readonly check: string;
  readonly about: string;
  readonly user: string | null | undefined;
  readonly account: string | undefined;
};

const issue = ({ account, user }: Refusal) => `\`key issue --account ${account} --user ${user}\` issues another key`;

const advice: readonly (readonly [RegExp, (refusal: Refusal) => string])[] = [
  [/^a route matches/, () => "openapi.json lists the methods and paths"],
  [/^the API key exists/, () => "`key list` lists the keys, and `key issue` issues one"],
  [/^the API key is not revoked/, issue],
  [/^the API key has not expired/, issue],
  [/^the API key's user exists/, () => "issue a key for a user: `user list` lists the users"],
  [/^the API key's user is not disabled/, ({ about }) => `\`user enable ${about}\``],
  [/has Ordering Attachment Access/, ({ about }) => `\`account feature ${about} on\``],
  [/has the permission/, ({ about, user }) => `\`user permissions ${user} --add ${about}\``],
  [/ is the key's or below it/, ({ about }) => `use a key of the account ${about}, or of one above it`],
  [/ exists/, ({ about }) => `correct the id: \`find ${about}\` identifies it`],
];

export const accessAdvice = (refusal: Refusal): string | null =>
  advice.find(([check]) => check.test(refusal.check))?.[1](refusal) ?? null;
