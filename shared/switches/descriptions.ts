import type { Descriptions } from "../schema/descriptions.ts";

/** The properties of one channel. */
const channel = (name: "sms" | "mms", protocols: string, formats: string): Record<string, string> => {
  const messages = name.toUpperCase();
  return {
    [`${name}_enabled`]: `Whether the switch processes ${messages}. An enabled channel needs the endpoints, the identity and the secret that its protocol and its authentication method use.`,
    [`${name}_auth_method`]: `How ${messages} deliveries are authenticated: \`NONE\`, \`BASIC\` (identity and secret), or \`BEARER\` (secret only).`,
    [`${name}_protocol`]: `How inbound ${messages} messages are delivered: ${protocols}`,
    [`${name}_endpoints`]:
      "The delivery targets: absolute http or https URLs for `HTTP`, email addresses for `EMAIL`, email addresses or `host[:port]` for `SMTP` and `MM4`.",
    [`${name}_identity`]: "The user name for `BASIC`.",
    [`${name}_secret`]: "The password for `BASIC`, or the token for `BEARER`.",
    [`${name}_message_format`]: `The format of the payload, mainly for \`HTTP\`: ${formats}`,
    [`${name}_options`]: "Reserved. Always null.",
  };
};

/** What the OpenAPI document says about switches. No function loads it. */
export const switchDescriptions = {
  tags: {
    switch: {
      name: "Switches",
      description: "Configurations of how inbound SMS and MMS messages are authenticated and delivered.",
    },
  },
  properties: {
    name: "The display name, unique within the account.",
    account: "The account that the switch belongs to. Present if `include` asks for it.",
    "AccountData.name": "The name of the account.",
    ...channel(
      "sms",
      "`NONE` discards them, `HTTP` sends them to a webhook, `MAILBOX` keeps them in an internal mailbox for retrieval through the API, `EMAIL` sends them by email, `SMTP` sends each as a barebones ISO 8601 message.",
      "`SERVICE_SMS_1_0`, or `LEGACY_SMS_2_0` for older receivers.",
    ),
    ...channel(
      "mms",
      "`NONE` discards them, `HTTP` sends them to a webhook, `MM4` uses the industry-standard MMS transport, `EMAIL` sends them by email, `SMTP` sends them raw.",
      "`SERVICE_SMS_1_0`, `SERVICE_MMS_1_0`, or `LEGACY_SMS_2_0` for older receivers.",
    ),
  },
  query: {
    include: "What to return with each document under `associations`, separated by commas.",
    "include.account": "the account of the switch.",
  },
  schemaNames: { SmsAuthMethod: "AuthMethod", MmsAuthMethod: "AuthMethod" },
} as const satisfies Descriptions;
