import type { Descriptions } from "../schema/descriptions.ts";
import { settingsDescriptions } from "./schema.ts";

/** The texts about switches in the OpenAPI document. No function loads this file. */
export const switchDescriptions = {
  tags: {
    switch: {
      name: "Switches",
      description: "Configurations of how inbound SMS and MMS messages are authenticated and delivered.",
    },
  },
  properties: {
    ...settingsDescriptions(),
    account: "The account that the switch belongs to. Present if `include` requests it.",
    "AccountData.name": "The name of the account.",
  },
  query: {
    include: "What to return with each document under `associations`, separated by commas.",
    "include.account": "the account of the switch.",
  },
  schemaNames: { SmsAuthMethod: "AuthMethod", MmsAuthMethod: "AuthMethod" },
} as const satisfies Descriptions;
