import * as z from "zod/mini";
import { SwitchData } from "../../shared/schemas/switch.ts";
import { type Answered, call } from "./client.ts";

export const switchesPath = "/api/v1/switches";

const Envelope = z.object({ type: z.literal("switch"), data: SwitchData });

/** The switch in an answer. */
export const switchOf = ({ body }: Answered) => z.parse(Envelope, body).data;

/** A switch as it is unless told otherwise, but for its id and times. */
export const plain = {
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
  sms_options: null,
  mms_options: null,
};

export const post = (key: string, data: unknown, path = switchesPath, headers: Record<string, string> = {}) =>
  call("POST", path, { key, headers, json: { type: "switch", data } });

export const patch = (key: string, id: string, data: unknown, headers: Record<string, string> = {}) =>
  call("PATCH", `${switchesPath}/${id}`, { key, headers, json: { type: "switch", data } });

/** Creates a switch and insists on 201. */
export const makeSwitch = async (key: string, data: Record<string, unknown>, path = switchesPath) => {
  const answer = await post(key, data, path);
  if (answer.status !== 201) throw new Error(`create: ${answer.status} ${answer.text}`);
  return switchOf(answer);
};
