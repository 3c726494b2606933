import { alreadyTaken } from "../../../shared/errors.ts";
import { settingsExample } from "../../../shared/switches/schema.ts";
import { type Example, includeProblem, page, pageProblems, problem } from "./example.ts";
import { ids } from "./ids.ts";

const moments = { inserted_at: "2026-11-21T09:30:12.508Z", updated_at: "2026-11-21T09:30:12.508Z" };
const options = { sms_options: null, mms_options: null };
const harborline = { id: ids.switch, ...settingsExample, ...options, ...moments };

const document = (data: unknown) => ({ type: "switch", data });

const account = { type: "account", data: { id: ids.account, name: "Harborline" } };
const withAccount = { ...document(harborline), associations: { account } };
const included = (response: unknown) => ({ "With include=account": response });

const list = {
  response: page(document(harborline)),
  others: included(page(withAccount)),
  invalid: { ...pageProblems, ...includeProblem("account") },
};

const changes = { mms_enabled: false };

const problems = {
  "The name is in use": [alreadyTaken("/data/name", { id: ids.switch, type: "switch" })],
  "An enabled channel is incomplete": [
    problem("/data/sms_endpoints", "constraint.required", "can't be blank"),
    problem("/data/sms_secret", "constraint.required", "can't be blank"),
  ],
};

const create = {
  body: document(settingsExample),
  response: document(harborline),
  invalid: problems,
};

export const switchExamples: Readonly<Record<string, Example>> = {
  "switches/create": {
    description:
      "Creates a switch in the API key's account. Only the name is required; it must be unique within the account. Both channels are disabled by default.",
    ...create,
  },
  "switches/create-under-account": {
    description:
      "Creates a switch in the given account, which is the API key's account or one below it. Only the name is required; it must be unique within that account. Both channels are disabled by default.",
    ...create,
  },
  "switches/list": {
    description: "Lists the switches of the API key's account and of all accounts below it.",
    ...list,
  },
  "switches/list-under-account": {
    description:
      "Lists the switches of the given account, which is the API key's account or one below it, and of all accounts below the given one.",
    ...list,
  },
  "switches/show": {
    description: "Returns the switch, including its secrets.",
    response: document(harborline),
    others: included(withAccount),
    invalid: includeProblem("account"),
  },
  "switches/update": {
    description:
      "Updates the switch. Omitted properties keep their values. The updated switch must be valid as a whole.",
    body: document(changes),
    response: document({ ...harborline, ...changes, updated_at: "2026-11-21T11:47:20.930Z" }),
    invalid: problems,
  },
  "switches/delete": {
    description:
      "Permanently deletes the switch, and returns the deleted document. The name can be used again immediately.",
    response: document(harborline),
  },
};
