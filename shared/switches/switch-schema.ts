import * as z from "zod/mini";
import { type Problem, problem } from "../errors.ts";
import { limits } from "../limits.ts";
import type { Properties } from "../route.ts";
import {
  isSameId,
  Name,
  pick,
  Timestamp,
  text,
  Ulid,
  wellFormed,
  withoutDefaults,
  withoutRules,
} from "../schema/fields.ts";
import { isEmailAddress, isHostAndPort, isHttpUrl } from "./addresses.ts";

const AuthMethod = z.enum(["NONE", "BASIC", "BEARER"]);
const SmsProtocol = z.enum(["NONE", "HTTP", "MAILBOX", "EMAIL", "SMTP"]);
const MmsProtocol = z.enum(["NONE", "HTTP", "MM4", "EMAIL", "SMTP"]);
const SmsFormat = z.enum(["SERVICE_SMS_1_0", "LEGACY_SMS_2_0"]);
const MmsFormat = z.enum(["SERVICE_SMS_1_0", "LEGACY_SMS_2_0", "SERVICE_MMS_1_0"]);

type Channel = "sms" | "mms";

/** The format of an endpoint depends on the channel's protocol. */
const Endpoint = z.string().check(z.trim(), z.maxLength(limits.endpointLength), wellFormed());
const error = "must be given only once";

/** A message would be delivered twice to an endpoint that is given twice. This is reported together with problems of single endpoints. */
const onlyOnce = z.check<string[]>(
  ({ value, issues }) => {
    for (const [index, input] of value.entries())
      if (value.indexOf(input) < index)
        issues.push({
          code: "custom",
          input,
          path: [index],
          message: error,
          params: { sub_code: "constraint.unique" },
        });
  },
  { error, when: ({ value }) => Array.isArray(value) && value.length <= limits.endpoints },
);
const Endpoints = z.array(Endpoint).check(z.maxLength(limits.endpoints), onlyOnce);
export const Identity = z.nullable(text(limits.identityLength));
export const Secret = z.nullable(text(limits.secretLength));

/** The pattern of every credential, whatever the method: no line breaks and no NUL. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are refused
export const credential = /^[^\r\n\u0000]*$/;

/** The properties that callers set. Add new ones here, with a default for older items, and their descriptions and examples below. */
const settings = {
  name: Name,
  sms_enabled: z._default(z.boolean(), false),
  sms_auth_method: z._default(AuthMethod, "NONE"),
  sms_protocol: z._default(SmsProtocol, "NONE"),
  sms_endpoints: z._default(Endpoints, []),
  sms_identity: z._default(Identity, null),
  sms_message_format: z._default(SmsFormat, "SERVICE_SMS_1_0"),
  sms_secret: z._default(Secret, null),
  mms_enabled: z._default(z.boolean(), false),
  mms_auth_method: z._default(AuthMethod, "NONE"),
  mms_protocol: z._default(MmsProtocol, "NONE"),
  mms_endpoints: z._default(Endpoints, []),
  mms_identity: z._default(Identity, null),
  mms_message_format: z._default(MmsFormat, "SERVICE_SMS_1_0"),
  mms_secret: z._default(Secret, null),
};

/**
 * The descriptions of the settings in the OpenAPI document. They are in a function, so that the bundles of Lambda functions leave
 * them out.
 */
export const settingsDescriptions = () => {
  const enabled = (messages: string) =>
    `Whether the switch processes ${messages}. An enabled channel needs the endpoints, the identity and the secret that its protocol and its authentication method use.`;
  const authMethod = (messages: string) =>
    `How ${messages} deliveries are authenticated: \`NONE\`, \`BASIC\` (identity and secret), or \`BEARER\` (secret only).`;
  const endpoints = (transport: string, stored: string) =>
    `Where messages are delivered, each to all of them; none is given twice. The protocol decides what they are, even if the channel is disabled. \`HTTP\`: absolute http or https URLs (RFC 3986) without user info, in ASCII. \`EMAIL\`: email addresses (HTML standard) with a DNS name that has a dot. ${transport}: email addresses or \`host[:port]\`. ${stored}: any text. A host is a DNS name, in Punycode if it is international, an IPv4 address of four decimal numbers or an IPv6 address in brackets; a port is 1 to 65535. Blanks at the ends are removed.`;
  const identity = "The user name for `BASIC`, which then has no colon and no control characters.";
  const secret =
    "The password for `BASIC`, which then has no control characters, or the token for `BEARER`, which then has only visible ASCII characters.";
  return {
    name: "The display name, unique within the account. Names are compared byte by byte: `Inbound` and `inbound` are two.",
    sms_enabled: enabled("SMS"),
    sms_auth_method: authMethod("SMS"),
    sms_protocol:
      "How inbound SMS messages are delivered: `NONE` discards them, `HTTP` sends them to a webhook, `MAILBOX` keeps them in an internal mailbox for retrieval through the API, `EMAIL` sends them by email, `SMTP` sends each as a barebones ISO 8601 message.",
    sms_endpoints: endpoints("`SMTP`", "`NONE` and `MAILBOX`"),
    sms_identity: identity,
    sms_message_format:
      "The format of the payload, mainly for `HTTP`: `SERVICE_SMS_1_0`, or `LEGACY_SMS_2_0` for older receivers.",
    sms_secret: secret,
    mms_enabled: enabled("MMS"),
    mms_auth_method: authMethod("MMS"),
    mms_protocol:
      "How inbound MMS messages are delivered: `NONE` discards them, `HTTP` sends them to a webhook, `MM4` uses the industry-standard MMS transport, `EMAIL` sends them by email, `SMTP` sends them raw.",
    mms_endpoints: endpoints("`SMTP` and `MM4`", "`NONE`"),
    mms_identity: identity,
    mms_message_format:
      "The format of the payload, mainly for `HTTP`: `SERVICE_SMS_1_0`, `SERVICE_MMS_1_0`, or `LEGACY_SMS_2_0` for older receivers.",
    mms_secret: secret,
  } satisfies Record<keyof typeof settings, string>;
};

export const settingsExample = {
  name: "Harborline inbound",
  sms_enabled: true,
  sms_auth_method: "BASIC",
  sms_protocol: "HTTP",
  sms_endpoints: ["https://messages.harborline.example/inbound/sms"],
  sms_identity: "patchbay",
  sms_message_format: "SERVICE_SMS_1_0",
  sms_secret: "correct-horse-battery-staple",
  mms_enabled: true,
  mms_auth_method: "NONE",
  mms_protocol: "EMAIL",
  mms_endpoints: ["mms-inbox@harborline.example"],
  mms_identity: null,
  mms_message_format: "SERVICE_MMS_1_0",
  mms_secret: null,
} satisfies SwitchSettings;

export const NewSwitch = z.object(settings);
export type SwitchSettings = z.infer<typeof NewSwitch>;

const Settings = z.object(withoutDefaults(settings));

/** A switch as callers receive it, in the `data` of its document. */
export const SwitchData = z.object({
  id: Ulid,
  ...Settings.shape,
  sms_options: z.null(),
  mms_options: z.null(),
  inserted_at: Timestamp,
  updated_at: Timestamp,
});
export type SwitchData = z.infer<typeof SwitchData>;

/**
 * A switch as it is stored. `ancestors` are the accounts above, root first. A new property needs a default, because older items
 * lack it.
 */
export const Switch = z.object({
  id: z.string(),
  ...withoutRules(NewSwitch.shape),
  inserted_at: z.string(),
  updated_at: z.string(),
  account: z.string(),
  ancestors: z.array(z.string()),
  version: z.number(),
});
export type Switch = z.infer<typeof Switch>;

export const SwitchChanges = z.partial(Settings);
export type SwitchChanges = z.infer<typeof SwitchChanges>;

/** Returns the document of a switch as every endpoint returns it, with the included associations. */
export const switchDocument = (stored: Switch, included: object = {}) => ({
  type: "switch",
  data: pick(SwitchData, { ...stored, sms_options: null, mms_options: null }),
  ...(Object.keys(included).length > 0 && { associations: included }),
});

/** The properties that a PATCH can contain but not change, with the comparisons to use. It ignores the server's times. */
export const immutableSwitchProperties = { id: isSameId };

/**
 * The following rules concern several properties. They see four versions of a switch. `sent` is applied to `current`, which gives
 * `result`. `valid` has those properties of the result that are valid by themselves.
 */

const mailTarget = {
  matches: (one: string) => isEmailAddress(one) || isHostAndPort(one),
  detail: "must be an email address or host[:port]",
};

/** The format of a protocol's endpoints. Protocols without an address accept any text. */
const addressRules = {
  NONE: undefined,
  MAILBOX: undefined,
  HTTP: {
    matches: isHttpUrl,
    detail:
      "must be an absolute http or https URL in ASCII without user info, with a DNS name or an IP address as its host and a port up to 65535",
  },
  EMAIL: { matches: isEmailAddress, detail: "must be an email address" },
  SMTP: mailTarget,
  MM4: mailTarget,
} as const;

const requiredCredentials = { NONE: [], BASIC: ["identity", "secret"], BEARER: ["secret"] } as const;

type Refusal = readonly [characters: RegExp, detail: string];
const lineBreak: Refusal = [/[\r\n\0]/, "must not contain line breaks or NUL"];
const control: Refusal = [/\p{Cc}/u, "must not contain control characters with BASIC"];
const colon: Refusal = [/:/, "must not contain a colon with BASIC"];
const invisible: Refusal = [/[^!-~]/, "must contain only visible ASCII characters with BEARER"];

/**
 * The characters that a header cannot contain with a method. The colon is one of them, because it ends the user name of BASIC (RFC
 * 7617, RFC 6750).
 */
const refusedCredentials = {
  NONE: { secret: [lineBreak], identity: [lineBreak] },
  BASIC: { secret: [control], identity: [control, colon] },
  BEARER: { secret: [invisible], identity: [lineBreak] },
} as const;

const credentialProblems = (
  sent: Properties,
  result: Properties,
  valid: SwitchChanges,
  channel: Channel,
): Problem[] => {
  const isSent = ["auth_method", "identity", "secret"].some((part) => Object.hasOwn(sent, `${channel}_${part}`));
  if (!isSent) return [];
  const refused = refusedCredentials[valid[`${channel}_auth_method`] ?? "NONE"];
  return Object.entries(refused).flatMap(([part, refusals]) => {
    const value = result[`${channel}_${part}`];
    const [, detail] = refusals.find(([characters]) => typeof value === "string" && characters.test(value)) ?? [];
    return detail ? [problem(`${channel}_${part}`, "constraint.format", detail)] : [];
  });
};

/** Reports endpoints that do not have the protocol's format. Those that are invalid by themselves are reported already. */
const endpointProblems = (result: Properties, protocol: keyof typeof addressRules, channel: Channel): Problem[] => {
  const endpoints = result[`${channel}_endpoints`];
  const address = addressRules[protocol];
  if (!address || !Array.isArray(endpoints) || endpoints.length > limits.endpoints) return [];
  return endpoints.flatMap((endpoint: unknown, index) => {
    const { data } = z.safeParse(Endpoint, endpoint);
    if (data === undefined || address.matches(data)) return [];
    return [problem(`${channel}_endpoints/${index}`, "constraint.format", address.detail)];
  });
};

/** Returns the problems of one channel. */
const channelProblems = (sent: Properties, result: Properties, valid: SwitchChanges, channel: Channel): Problem[] => {
  const protocol = valid[`${channel}_protocol`] ?? "NONE";
  const malformed = [
    ...endpointProblems(result, protocol, channel),
    ...credentialProblems(sent, result, valid, channel),
  ];
  if (valid[`${channel}_enabled`] !== true) return malformed;
  const missingEndpoints = addressRules[protocol] && valid[`${channel}_endpoints`]?.length === 0 ? ["endpoints"] : [];
  const missingCredentials = requiredCredentials[valid[`${channel}_auth_method`] ?? "NONE"].filter((part) => {
    const value = valid[`${channel}_${part}`];
    return value === null || value === "";
  });
  const missing = [...missingEndpoints, ...missingCredentials];
  return [
    ...malformed,
    ...missing.map((part) => problem(`${channel}_${part}`, "constraint.required", "can't be blank")),
  ];
};

const resultOf = (sent: Properties, current: Properties): Properties => {
  // A new switch has the defaults, and an empty name unless it is sent.
  const Current = z.object({ ...withoutRules(settings), name: z._default(z.string(), "") });
  return pick(Settings, { ...z.parse(Current, current), ...sent });
};

const validOf = (result: Properties): SwitchChanges => {
  const { data, error } = z.safeParse(Settings, result);
  if (data) return data;
  const invalid = new Set(error.issues.map(({ path }) => path[0]));
  return z.parse(SwitchChanges, Object.fromEntries(Object.entries(result).filter(([name]) => !invalid.has(name))));
};

/** Returns all problems of the switch that results if `sent` is applied to `current`. */
export const switchProblems = (sent: Properties, current: Properties = {}): Problem[] => {
  const result = resultOf(sent, current);
  const valid = validOf(result);
  return [...channelProblems(sent, result, valid, "sms"), ...channelProblems(sent, result, valid, "mms")];
};
