import type { Descriptions } from "../schema/descriptions.ts";
import { settingsDescriptions } from "./schema.ts";

/** What the OpenAPI document says about switches. No function loads it. */
export const switchDescriptions = {
  tags: {
    switch: {
      name: "Switches",
      description: "Configurations of how inbound SMS and MMS messages are authenticated and delivered.",
    },
  },
  properties: {
    ...settingsDescriptions(),
    account: "The account that the switch belongs to. Present if `include` asks for it.",
    "AccountData.name": "The name of the account.",
  },
  query: {
    include: "What to return with each document under `associations`.",
    "include.account": "the account of the switch.",
  },
  schemaNames: { SmsAuthMethod: "AuthMethod", MmsAuthMethod: "AuthMethod" },
} as const satisfies Descriptions;
