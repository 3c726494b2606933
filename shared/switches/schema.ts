import * as z from "zod/mini";
import type { Fault } from "../errors.ts";
import { limits } from "../limits.ts";
import {
  includeOf,
  isSame,
  isSameId,
  nonBlankText,
  PageQuery,
  pick,
  Timestamp,
  text,
  Ulid,
  withoutDefaults,
  withoutRules,
} from "../schema/fields.ts";

const AuthMethod = z.enum(["NONE", "BASIC", "BEARER"]);
const SmsProtocol = z.enum(["NONE", "HTTP", "MAILBOX", "EMAIL", "SMTP"]);
const MmsProtocol = z.enum(["NONE", "HTTP", "MM4", "EMAIL", "SMTP"]);
const SmsFormat = z.enum(["SERVICE_SMS_1_0", "LEGACY_SMS_2_0"]);
const MmsFormat = z.enum(["SERVICE_SMS_1_0", "LEGACY_SMS_2_0", "SERVICE_MMS_1_0"]);

type Channel = "sms" | "mms";

/** The protocol decides what they are addresses of. */
const Endpoints = z.array(text(limits.endpointLength)).check(z.maxLength(limits.endpoints));
const Identity = z.nullable(text(limits.identityLength));
const Secret = z.nullable(text(limits.secretLength));

/**
 * What callers say about a switch. By default a channel is off and discards what arrives. A new setting is added in this
 * file alone: here, with a default that older items get, and with a description and an example below.
 */
const settings = {
  name: nonBlankText(limits.nameLength),
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

const channelDescriptions = (channel: Channel, protocols: string, formats: string): Record<string, string> => {
  const messages = channel.toUpperCase();
  return {
    [`${channel}_enabled`]: `Whether the switch processes ${messages}. An enabled channel needs the endpoints, the identity and the secret that its protocol and its authentication method use.`,
    [`${channel}_auth_method`]: `How ${messages} deliveries are authenticated: \`NONE\`, \`BASIC\` (identity and secret), or \`BEARER\` (secret only).`,
    [`${channel}_protocol`]: `How inbound ${messages} messages are delivered: ${protocols}`,
    [`${channel}_endpoints`]:
      "The delivery targets: absolute http or https URLs for `HTTP`, email addresses for `EMAIL`, email addresses or `host[:port]` for `SMTP` and `MM4`.",
    [`${channel}_identity`]: "The user name for `BASIC`.",
    [`${channel}_secret`]: "The password for `BASIC`, or the token for `BEARER`.",
    [`${channel}_message_format`]: `The format of the payload, mainly for \`HTTP\`: ${formats}`,
    [`${channel}_options`]: "Reserved. Always null.",
  };
};

/** What the OpenAPI document says about the settings. No function calls it. */
export const settingsDescriptions = () => ({
  name: "The display name, unique within the account.",
  ...channelDescriptions(
    "sms",
    "`NONE` discards them, `HTTP` sends them to a webhook, `MAILBOX` keeps them in an internal mailbox for retrieval through the API, `EMAIL` sends them by email, `SMTP` sends each as a barebones ISO 8601 message.",
    "`SERVICE_SMS_1_0`, or `LEGACY_SMS_2_0` for older receivers.",
  ),
  ...channelDescriptions(
    "mms",
    "`NONE` discards them, `HTTP` sends them to a webhook, `MM4` uses the industry-standard MMS transport, `EMAIL` sends them by email, `SMTP` sends them raw.",
    "`SERVICE_SMS_1_0`, `SERVICE_MMS_1_0`, or `LEGACY_SMS_2_0` for older receivers.",
  ),
});

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

/** What a caller sends to create a switch. */
const NewSwitch = z.object(settings);
export type SwitchSettings = z.infer<typeof NewSwitch>;

/** Each setting on its own, required. */
const Settings = z.object(withoutDefaults(settings));

/** A switch as callers get it: `data` of its document. */
export const SwitchData = z.object({
  id: Ulid,
  ...Settings.shape,
  sms_options: z.null(),
  mms_options: z.null(),
  inserted_at: Timestamp,
  updated_at: Timestamp,
});
export type SwitchData = z.infer<typeof SwitchData>;

/** A switch as the table keeps it: with its account, the accounts above that one (root first), its ETag's version, and who wrote it last. A property added here has a default: items that are older lack it. */
export const Switch = z.object({
  id: z.string(),
  ...withoutRules(NewSwitch.shape),
  inserted_at: z.string(),
  updated_at: z.string(),
  account: z.string(),
  ancestors: z.array(z.string()),
  version: z.number(),
  writers: z.optional(z.array(z.string())),
});
export type Switch = z.infer<typeof Switch>;

export const CreateSwitchBody = z.object({ type: z.literal("switch"), data: NewSwitch });

export const UpdateSwitchBody = z.object({ type: z.literal("switch"), data: z.partial(Settings) });
export type SwitchChanges = z.infer<typeof UpdateSwitchBody>["data"];

/** The envelope of a switch, as every endpoint returns it, with what is included. */
export const switchDocument = (stored: Switch, included: object = {}) => ({
  type: "switch",
  data: pick(SwitchData, { ...stored, sms_options: null, mms_options: null }),
  ...(Object.keys(included).length > 0 && { associations: included }),
});

/** The query of one switch, and of a list of switches. */
export const SwitchQuery = z.object({ include: includeOf("account") });
export const SwitchListQuery = z.object({ ...PageQuery.shape, ...SwitchQuery.shape });
export type SwitchListQuery = z.infer<typeof SwitchListQuery>;

/** What a PATCH may echo but not change. */
export const immutableSwitchProperties = { id: isSameId, inserted_at: isSame, updated_at: isSame };

/** The rules that concern several properties of a switch. They apply to the whole switch. */

const hostAndPort =
  /^(?:[a-z\d](?:[a-z\d-]{0,61}[a-z\d])?(?:\.[a-z\d](?:[a-z\d-]{0,61}[a-z\d])?)*\.?|\[[\da-f:.]+\])(?::0*[1-9]\d*)?$/i;

const isEmail = (endpoint: string) => z.regexes.email.test(endpoint);

/** RFC 3986: ASCII without spaces, a host that can be one, and no user info, which would be a secret in a wrong place. */
const isUrl = (endpoint: string) => {
  // `URL` reads `http:///x` as `http://x`, and an empty user info as none.
  if (!/^https?:\/\/[^/?#\\@][!-~]*$/i.test(endpoint) || !URL.canParse(endpoint)) return false;
  const { username, password, hostname, port } = new URL(endpoint);
  if (username !== "" || password !== "" || /^https?:\/\/[^/?#\\]*@/i.test(endpoint)) return false;
  return port !== "0" && hostname.replace(/\.$/, "").split(".").every(Boolean);
};

const isHost = (endpoint: string) => hostAndPort.test(endpoint) && URL.canParse(`http://${endpoint}`);

/** What the endpoints of a protocol must be. Protocols that deliver to no address accept any text. */
const addresses = {
  NONE: undefined,
  MAILBOX: undefined,
  HTTP: { matches: isUrl, detail: "must be an absolute http or https URL without user info" },
  EMAIL: { matches: isEmail, detail: "must be an email address" },
  SMTP: { matches: (one: string) => isEmail(one) || isHost(one), detail: "must be an email address or host[:port]" },
  MM4: { matches: (one: string) => isEmail(one) || isHost(one), detail: "must be an email address or host[:port]" },
} as const;

const secretsOf = { NONE: [], BASIC: ["identity", "secret"], BEARER: ["secret"] } as const;

const required = (pointer: string): Fault => ({
  in: "body",
  pointer,
  sub_code: "constraint.required",
  detail: "can't be blank",
});

/** Characters that a header cannot contain, or that would end the user name of BASIC (RFC 7617). */
const credentialFaults = (known: SwitchChanges, channel: Channel): Fault[] => {
  const { [`${channel}_identity` as const]: identity, [`${channel}_secret` as const]: secret } = known;
  const fault = (part: "identity" | "secret", detail: string): Fault => ({
    in: "body",
    pointer: `/data/${channel}_${part}`,
    sub_code: "constraint.format",
    detail,
  });
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is refused
  const breaksHeader = /[\r\n\u0000]/;
  const broken = "must not contain line breaks or NUL";
  return [
    ...(breaksHeader.test(identity ?? "") ? [fault("identity", broken)] : []),
    ...(breaksHeader.test(secret ?? "") ? [fault("secret", broken)] : []),
    ...(known[`${channel}_auth_method`] === "BASIC" && identity?.includes(":")
      ? [fault("identity", "must not contain a colon with BASIC")]
      : []),
  ];
};

/** The faults of one channel. A property that has a fault of its own is not known, and is not checked. */
const channelFaults = (known: SwitchChanges, channel: Channel): Fault[] => {
  const { [`${channel}_protocol` as const]: protocol, [`${channel}_endpoints` as const]: endpoints } = known;
  const { [`${channel}_auth_method` as const]: auth, [`${channel}_enabled` as const]: enabled } = known;
  const address = protocol && addresses[protocol];
  const malformed = (endpoints ?? []).flatMap((endpoint, index): Fault[] =>
    !address || address.matches(endpoint)
      ? []
      : [
          {
            in: "body",
            pointer: `/data/${channel}_endpoints/${index}`,
            sub_code: "constraint.format",
            detail: address.detail,
          },
        ],
  );
  const unsendable = credentialFaults(known, channel);
  if (enabled !== true) return [...malformed, ...unsendable];
  const unaddressed = address && endpoints?.length === 0 ? [required(`/data/${channel}_endpoints`)] : [];
  const missing = secretsOf[auth ?? "NONE"].filter((part) => {
    const value = known[`${channel}_${part}`];
    return value === null || value === "";
  });
  return [...malformed, ...unsendable, ...unaddressed, ...missing.map((part) => required(`/data/${channel}_${part}`))];
};

const Sent = z.object({ data: z.record(z.string(), z.unknown()) });

/** Merges what was sent into what is stored (or the defaults), leaving out properties with a fault of their own. */
const merged = (sent: unknown, current: Readonly<Record<string, unknown>>): SwitchChanges => {
  const data = z.safeParse(Sent, sent).data?.data ?? {};
  // A new switch has the defaults, but no name.
  const Stored = z.object({ ...withoutRules(settings), name: z.optional(z.string()) });
  const whole: Readonly<Record<string, unknown>> = z.parse(Stored, current);
  const properties = Object.keys(Settings.shape).map((name): [string, unknown] => [
    name,
    Object.hasOwn(data, name) ? data[name] : whole[name],
  ]);
  const { data: known, error } = z.safeParse(Settings, Object.fromEntries(properties));
  if (known) return known;
  const faulty = new Set(error.issues.map(({ path }) => path[0]));
  return z.parse(z.partial(Settings), Object.fromEntries(properties.filter(([name]) => !faulty.has(name))));
};

/** All faults of a switch as it would be, with `sent` written over `current`. */
export const switchFaults = (sent: unknown, current: Readonly<Record<string, unknown>> = {}): Fault[] => {
  const known = merged(sent, current);
  return [...channelFaults(known, "sms"), ...channelFaults(known, "mms")];
};
