/** What each property of requests and answers is, by its name: a name means the same wherever it stands. */

const channel = (name: "sms" | "mms", protocols: string, formats: string): Record<string, string> => {
  const messages = name.toUpperCase();
  return {
    [`${name}_enabled`]: `Whether the switch takes ${messages}. An enabled channel must be able to work: what its protocol and its authentication need is then required.`,
    [`${name}_auth_method`]: `How deliveries of ${messages} authenticate themselves: \`NONE\`; \`BASIC\` with identity and secret; \`BEARER\` with the secret alone.`,
    [`${name}_protocol`]: `How inbound ${messages} are delivered: ${protocols}`,
    [`${name}_endpoints`]:
      "Where to, by protocol: absolute http(s) URLs for `HTTP`, email addresses for `EMAIL`, a mail address or `host[:port]` for `SMTP` and `MM4`. At most 10.",
    [`${name}_identity`]: "The user name of `BASIC`.",
    [`${name}_secret`]: "The password of `BASIC`, or the token of `BEARER`.",
    [`${name}_message_format`]: `The format of the payload, mainly for \`HTTP\`: ${formats}`,
    [`${name}_options`]: "Always null.",
  };
};

const attachment = {
  name: "The display name.",
  notes: "Free text; an empty text is none.",
  file_hint: "What kind of document it is.",
  reference_id: "An identifier of the caller's own, unique within the request or the order.",
  filename: "The name under which the file is referred to; by default the uploaded file's own.",
  file: "The file itself: exactly one, not empty.",
};

const envelope = {
  id: "The unique identifier, a ULID.",
  type: "What kind of document this is.",
  data: "The document itself.",
  associations: "What the document belongs to.",
  request: "The request that the attachment belongs to; its id stays the same at checkout.",
  inserted_at: "When it was created.",
  updated_at: "When it last changed.",
};

const list = {
  items: "The documents of this page, in ascending order of their ids.",
  page_info: "Where this page stands in the list.",
  after: "The cursor that leads to the next page, if there is one.",
  before: "The cursor that leads to the page before this one, if there is one.",
  limit: "The page size that was asked for.",
  total: "How many documents the whole list has.",
};

const error = {
  errors: "All that is wrong, each on its own.",
  code: "Which error it is; the list of codes is closed.",
  title: "The code in words.",
  detail: "What is wrong, as a person would say it.",
  sub_code: "Which rule is broken, for `invalid_parameter`; else `none`.",
  source: "Which part of the request is wrong.",
  in: "Where it is.",
  pointer:
    "A JSON pointer: `/data/name` in a body (for the form part `data[name]` too), `/first` in the query, `/Idempotency-Key` for a header; empty for the body as a whole.",
  params: "Particulars of the code.",
  account: "The account that lacks the feature.",
  permission: "The permission that the user lacks.",
  resource: "What does not exist.",
  limit_bytes: "The largest size that is accepted, in bytes.",
  expected: "The media type that is accepted.",
};

export const properties: Readonly<Record<string, string>> = {
  ...envelope,
  ...attachment,
  ...list,
  ...error,
  ...channel(
    "sms",
    "`NONE` discards them; `HTTP`; `MAILBOX` keeps them for retrieval through the API; `EMAIL`; `SMTP` sends each as a barebones ISO 8601 message.",
    "`SERVICE_SMS_1_0`, or `LEGACY_SMS_2_0` for older receivers.",
  ),
  ...channel(
    "mms",
    "`NONE` discards them; `HTTP`; `MM4`, the industry's MMS transport; `EMAIL`; `SMTP` sends them raw.",
    "`SERVICE_SMS_1_0`, `SERVICE_MMS_1_0`, or `LEGACY_SMS_2_0` for older receivers.",
  ),
};
