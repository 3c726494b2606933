import * as z from "zod/mini";
import { nonBlankText, Timestamp, text, Ulid } from "../schema/fields.ts";

export const AuthMethod = z.enum(["NONE", "BASIC", "BEARER"]);
export const SmsProtocol = z.enum(["NONE", "HTTP", "MAILBOX", "EMAIL", "SMTP"]);
export const MmsProtocol = z.enum(["NONE", "HTTP", "MM4", "EMAIL", "SMTP"]);
const SmsFormat = z.enum(["SERVICE_SMS_1_0", "LEGACY_SMS_2_0"]);
const MmsFormat = z.enum(["SERVICE_SMS_1_0", "LEGACY_SMS_2_0", "SERVICE_MMS_1_0"]);

/** Which of them are addresses of what, is up to the protocol: switch-rules.ts. */
const Endpoints = z.array(text(2048)).check(z.maxLength(10));
const Identity = z.nullable(text(255));
const Secret = z.nullable(text(1024));

/** What a caller says of a switch, each property on its own. */
export const switchSettings = {
  name: nonBlankText(255),
  sms_enabled: z.boolean(),
  sms_auth_method: AuthMethod,
  sms_protocol: SmsProtocol,
  sms_endpoints: Endpoints,
  sms_identity: Identity,
  sms_message_format: SmsFormat,
  sms_secret: Secret,
  mms_enabled: z.boolean(),
  mms_auth_method: AuthMethod,
  mms_protocol: MmsProtocol,
  mms_endpoints: Endpoints,
  mms_identity: Identity,
  mms_message_format: MmsFormat,
  mms_secret: Secret,
};
const Settings = z.object(switchSettings);
export type SwitchSettings = z.infer<typeof Settings>;

/** What a caller sees of a switch: `data` of its document. */
export const SwitchData = z.object({
  id: Ulid,
  ...switchSettings,
  sms_options: z.null(),
  mms_options: z.null(),
  inserted_at: Timestamp,
  updated_at: Timestamp,
});
export type SwitchData = z.infer<typeof SwitchData>;

/** A switch as the table keeps it: with its account, the accounts above that one (root first), its ETag's version, and who wrote it last. */
export const Switch = z.object({
  id: Ulid,
  ...switchSettings,
  inserted_at: Timestamp,
  updated_at: Timestamp,
  account: Ulid,
  ancestors: z.array(Ulid),
  version: z.number(),
  writers: z.optional(z.array(z.string())),
});
export type Switch = z.infer<typeof Switch>;

/** A channel is off, and discards what comes, unless told otherwise. */
export const switchDefaults = {
  sms_enabled: false,
  sms_auth_method: "NONE",
  sms_protocol: "NONE",
  sms_endpoints: [],
  sms_identity: null,
  sms_message_format: "SERVICE_SMS_1_0",
  sms_secret: null,
  mms_enabled: false,
  mms_auth_method: "NONE",
  mms_protocol: "NONE",
  mms_endpoints: [],
  mms_identity: null,
  mms_message_format: "SERVICE_SMS_1_0",
  mms_secret: null,
} satisfies Omit<SwitchSettings, "name">;

export const CreateSwitchBody = z.object({
  type: z.literal("switch"),
  data: z.object({
    name: switchSettings.name,
    sms_enabled: z._default(switchSettings.sms_enabled, switchDefaults.sms_enabled),
    sms_auth_method: z._default(AuthMethod, switchDefaults.sms_auth_method),
    sms_protocol: z._default(SmsProtocol, switchDefaults.sms_protocol),
    sms_endpoints: z._default(Endpoints, switchDefaults.sms_endpoints),
    sms_identity: z._default(Identity, switchDefaults.sms_identity),
    sms_message_format: z._default(SmsFormat, switchDefaults.sms_message_format),
    sms_secret: z._default(Secret, switchDefaults.sms_secret),
    mms_enabled: z._default(switchSettings.mms_enabled, switchDefaults.mms_enabled),
    mms_auth_method: z._default(AuthMethod, switchDefaults.mms_auth_method),
    mms_protocol: z._default(MmsProtocol, switchDefaults.mms_protocol),
    mms_endpoints: z._default(Endpoints, switchDefaults.mms_endpoints),
    mms_identity: z._default(Identity, switchDefaults.mms_identity),
    mms_message_format: z._default(MmsFormat, switchDefaults.mms_message_format),
    mms_secret: z._default(Secret, switchDefaults.mms_secret),
  }),
});

export const UpdateSwitchBody = z.object({ type: z.literal("switch"), data: z.partial(Settings) });
export type SwitchChanges = z.infer<typeof UpdateSwitchBody>["data"];

/** What a PATCH may echo but not change. */
export const immutableSwitchProperties = ["id", "inserted_at", "updated_at"] as const;
