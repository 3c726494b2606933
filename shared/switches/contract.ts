import * as z from "zod/mini";
import { alreadyTaken, problem } from "../errors.ts";
import type { Contract } from "../route.ts";
import {
  documented,
  idProperty,
  ids,
  named,
  page,
  pageParameters,
  stated,
  statedId,
  timeProperties,
} from "../schema/documents.ts";
import * as rows from "./routes.ts";
import { NewSwitch, SwitchChanges, SwitchData, settingsDescriptions, settingsExample } from "./switch-schema.ts";

/** The documents, texts and examples of switches' endpoints in the OpenAPI document. No function loads this file. */

const accountData = stated("AccountData", "Identifies an account.", {
  ...statedId,
  name: [z.string(), "The name of the account."],
});
const AccountDocument = z.object({ type: z.literal("account"), data: accountData.schema });

const associations = stated("SwitchAssociations", "What a switch is associated with.", {
  account: [z.optional(AccountDocument), "The account that the switch belongs to. Present if `include` requests it."],
});

const documents = {
  switch: z.object({ type: z.literal("switch"), data: SwitchData, associations: z.optional(associations.schema) }),
  account: AccountDocument,
};

const document = (data: unknown, more: object = {}) => ({ type: "switch", data, ...more });
const harborline = {
  id: ids.switch,
  ...settingsExample,
  sms_options: null,
  mms_options: null,
  inserted_at: "2026-11-21T09:30:12.508Z",
  updated_at: "2026-11-21T09:30:12.508Z",
};
const response = document(harborline);
const account = { type: "account", data: { id: ids.account, name: "Harborline" } };
const withAccount = document(harborline, { associations: { account } });
const invalid = {
  "The name is in use": [alreadyTaken("/data/name", { id: ids.switch, type: "switch" })],
  "An enabled channel is incomplete": [
    problem("sms_endpoints", "constraint.required", "can't be blank"),
    problem("sms_secret", "constraint.required", "can't be blank"),
  ],
};
// It differs from the other example's name, so that both can be sent for the same account.
const failover = { name: "Harborline failover" };
const query = { include: { account: "the account of the switch." } };
const listing = {
  query: { ...pageParameters, ...query },
  response: page(response),
  others: { "With include=account": page(withAccount) },
};
const changes = { mms_enabled: false };
const changed = { ...harborline, ...changes, updated_at: "2026-11-21T11:47:20.930Z" };
const routes = [
  documented(rows.createSwitchRoutes.own, {
    summary: "Create a switch",
    description:
      "Creates a switch in the API key's account. Only the name is required; it must be unique within the account. Both channels are disabled by default.",
    body: document(settingsExample),
    response,
    invalid,
  }),
  documented(rows.createSwitchRoutes.inPath, {
    summary: "Create a switch under an account",
    description:
      "Creates a switch in the given account, which is the API key's account or one below it. Only the name is required; it must be unique within that account. Both channels are disabled by default.",
    body: document({ ...settingsExample, ...failover }),
    response: document({ ...harborline, ...failover }),
    invalid,
  }),
  documented(rows.listSwitchesRoutes.own, {
    summary: "List the switches of the account and its sub-accounts",
    description: "Lists the switches of the API key's account and of all accounts below it.",
    ...listing,
  }),
  documented(rows.listSwitchesRoutes.inPath, {
    summary: "List the switches of an account and its sub-accounts",
    description:
      "Lists the switches of the given account, which is the API key's account or one below it, and of all accounts below the given one.",
    ...listing,
  }),
  documented(rows.showSwitchRoute, {
    summary: "Show a switch",
    description: "Returns the switch, including its secrets.",
    query,
    response,
    others: { "With include=account": withAccount },
  }),
  documented(rows.updateSwitchRoute, {
    summary: "Update a switch",
    description:
      "Updates the switch. Omitted properties keep their values. `inserted_at` and `updated_at` are ignored, so a whole document can be sent back. The updated switch must be valid as a whole.",
    body: document(changes),
    response: document(changed),
    invalid,
  }),
  documented(rows.deleteSwitchRoute, {
    summary: "Delete a switch",
    description:
      "Permanently deletes the switch, and returns the deleted document. The name can be used again immediately.",
    response,
  }),
];

const settings = settingsDescriptions();

export const switchContract: Contract = {
  routes,
  documents,
  tags: {
    switch: {
      name: "Switches",
      description: "Configurations of how inbound SMS and MMS messages are authenticated and delivered.",
    },
  },
  schemas: [
    named(
      "SwitchCreateData",
      "The settings of the new switch. What is left out, or null, has its default.",
      NewSwitch,
      settings,
    ),
    named(
      "SwitchUpdateData",
      "The settings to change. What is left out keeps its value; the rules apply to the result.",
      SwitchChanges,
      settings,
    ),
    named("SwitchData", "A switch: how inbound SMS and MMS messages are authenticated and delivered.", SwitchData, {
      ...idProperty,
      ...settings,
      sms_options: "Reserved. Always null.",
      mms_options: "Reserved. Always null.",
      ...timeProperties,
    }),
    associations,
    accountData,
    { name: "AuthMethod", schema: SwitchData.shape.sms_auth_method },
  ],
};
