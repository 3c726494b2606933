import { type Example, fault, page, pageFaults } from "./example.ts";
import { ids } from "./ids.ts";

const sms = {
  sms_enabled: true,
  sms_auth_method: "BASIC",
  sms_protocol: "HTTP",
  sms_endpoints: ["https://messages.harborline.example/inbound/sms"],
  sms_identity: "patchbay",
  sms_message_format: "SERVICE_SMS_1_0",
  sms_secret: "correct-horse-battery-staple",
};

const mms = {
  mms_enabled: true,
  mms_auth_method: "NONE",
  mms_protocol: "EMAIL",
  mms_endpoints: ["mms-inbox@harborline.example"],
  mms_identity: null,
  mms_message_format: "SERVICE_MMS_1_0",
  mms_secret: null,
};

const moments = { inserted_at: "2026-11-21T09:30:12.508Z", updated_at: "2026-11-21T09:30:12.508Z" };
const options = { sms_options: null, mms_options: null };
const harborline = { id: ids.switch, name: "Harborline inbound", ...sms, ...mms, ...options, ...moments };

const document = (data: unknown) => ({ type: "switch", data });

const changes = { mms_enabled: false };

const faults = {
  "A name in use": [fault("/data/name", "constraint.unique", "has already been taken")],
  "An enabled channel that could not work": [
    fault("/data/sms_endpoints", "constraint.required", "can't be blank"),
    fault("/data/sms_secret", "constraint.required", "can't be blank"),
  ],
};

const create = {
  body: document({ name: harborline.name, ...sms, ...mms }),
  answer: document(harborline),
  invalid: faults,
};

export const switchExamples: Readonly<Record<string, Example>> = {
  "switches/create": {
    description:
      "Creates a switch in the key's own account. Only the name is required: a switch starts with both channels off. Names are unique within an account.",
    ...create,
  },
  "switches/create-under-account": {
    description:
      "Creates a switch in an account: the key's own, or one below it. The rules are those of a switch of one's own.",
    ...create,
  },
  "switches/list": {
    description: "Lists the switches of the key's account and of every account below it, as one list.",
    answer: page(document(harborline)),
    invalid: pageFaults,
  },
  "switches/show": { description: "Answers the whole switch, its secrets included.", answer: document(harborline) },
  "switches/update": {
    description: "Changes what is sent; what is left out keeps its value. The rules are judged on the result.",
    body: document(changes),
    answer: document({ ...harborline, ...changes, updated_at: "2026-11-21T11:47:20.930Z" }),
    invalid: faults,
  },
  "switches/delete": {
    description: "Removes the switch for good, and answers it as it was. Its name is free again at once.",
    answer: document(harborline),
  },
};
