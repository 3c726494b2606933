import * as z from "zod/mini";
import { alreadyTaken, problem } from "../errors.ts";
import type { Contract } from "../route.ts";
import { ids, page } from "../schema/documents.ts";
import { Ulid } from "../schema/fields.ts";
import {
  createSwitch,
  createSwitchUnderAccount,
  deleteSwitch,
  listSwitches,
  listSwitchesUnderAccount,
  showSwitch,
  updateSwitch,
} from "./routes.ts";
import { SwitchData, settingsDescriptions, settingsExample } from "./schema.ts";

/** What the OpenAPI document says about the endpoints of switches: documents, texts and examples. No function loads this file. */

/** A function, so that bundles of Lambda functions leave it out. */
export const switchContract = (): Contract => {
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
  const creating = { body: document(settingsExample), response, invalid };
  const listing = { response: page(response), others: { "With include=account": page(withAccount) } };
  const changes = { mms_enabled: false };
  const changed = { ...harborline, ...changes, updated_at: "2026-11-21T11:47:20.930Z" };
  const docs = {
    create: {
      summary: "Create a switch",
      description:
        "Creates a switch in the API key's account. Only the name is required; it must be unique within the account. Both channels are disabled by default.",
      ...creating,
    },
    createUnderAccount: {
      summary: "Create a switch under an account",
      description:
        "Creates a switch in the given account, which is the API key's account or one below it. Only the name is required; it must be unique within that account. Both channels are disabled by default.",
      ...creating,
    },
    list: {
      summary: "List the switches of the account and its sub-accounts",
      description: "Lists the switches of the API key's account and of all accounts below it.",
      ...listing,
    },
    listUnderAccount: {
      summary: "List the switches of an account and its sub-accounts",
      description:
        "Lists the switches of the given account, which is the API key's account or one below it, and of all accounts below the given one.",
      ...listing,
    },
    show: {
      summary: "Show a switch",
      description: "Returns the switch, including its secrets.",
      response,
      others: { "With include=account": withAccount },
    },
    update: {
      summary: "Update a switch",
      description:
        "Updates the switch. Omitted properties keep their values. The updated switch must be valid as a whole.",
      body: document(changes),
      response: document(changed),
      invalid,
    },
    delete: {
      summary: "Delete a switch",
      description:
        "Permanently deletes the switch, and returns the deleted document. The name can be used again immediately.",
      response,
    },
  };
  return {
    routes: [
      { ...createSwitch, docs: docs.create },
      { ...createSwitchUnderAccount, docs: docs.createUnderAccount },
      { ...listSwitches, docs: docs.list },
      { ...listSwitchesUnderAccount, docs: docs.listUnderAccount },
      { ...showSwitch, docs: docs.show },
      { ...updateSwitch, docs: docs.update },
      { ...deleteSwitch, docs: docs.delete },
    ],
    documents: {
      switch: z.object({
        type: z.literal("switch"),
        data: SwitchData,
        associations: z.optional(
          z.object({
            account: z.optional(
              z.object({ type: z.literal("account"), data: z.object({ id: Ulid, name: z.string() }) }),
            ),
          }),
        ),
      }),
    },
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
  };
};
