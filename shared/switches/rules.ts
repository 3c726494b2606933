import * as z from "zod/mini";
import type { Fault } from "../errors.ts";
import { type SwitchChanges, switchDefaults, switchSettings } from "./schema.ts";

/** The rules that join the properties of a switch, judged on the whole of it. Source: semantics.md, 6. */

type Known = SwitchChanges;
type Channel = "sms" | "mms";

const hostAndPort =
  /^(?:[a-z\d](?:[a-z\d-]{0,61}[a-z\d])?(?:\.[a-z\d](?:[a-z\d-]{0,61}[a-z\d])?)*\.?|\[[\da-f:.]+\])(?::0*[1-9]\d*)?$/i;

const isEmail = (endpoint: string) => z.regexes.email.test(endpoint);

/** RFC 3986: ASCII without spaces, and no user info, which would be a secret outside the secret's place. */
const isUrl = (endpoint: string) => {
  if (!/^https?:\/\/[!-~]+$/i.test(endpoint) || !URL.canParse(endpoint)) return false;
  const { username, password } = new URL(endpoint);
  return username === "" && password === "" && !/^https?:\/\/[^/?#\\]*@/i.test(endpoint);
};

const isHost = (endpoint: string) => hostAndPort.test(endpoint) && URL.canParse(`http://${endpoint}`);

/** What the endpoints of a protocol must be; protocols that deliver to no address take any text. */
const addresses = {
  NONE: undefined,
  MAILBOX: undefined,
  HTTP: { holds: isUrl, detail: "must be an absolute http or https URL without user info" },
  EMAIL: { holds: isEmail, detail: "must be an email address" },
  SMTP: { holds: (one: string) => isEmail(one) || isHost(one), detail: "must be an email address or host[:port]" },
  MM4: { holds: (one: string) => isEmail(one) || isHost(one), detail: "must be an email address or host[:port]" },
} as const;

const secretsOf = { NONE: [], BASIC: ["identity", "secret"], BEARER: ["secret"] } as const;

const required = (pointer: string): Fault => ({
  in: "body",
  pointer,
  sub_code: "constraint.required",
  detail: "can't be blank",
});

/** The faults of one channel; a property that is not known, because it has a fault of its own, is not judged. */
const channelFaults = (known: Known, channel: Channel): Fault[] => {
  const { [`${channel}_protocol` as const]: protocol, [`${channel}_endpoints` as const]: endpoints } = known;
  const { [`${channel}_auth_method` as const]: auth, [`${channel}_enabled` as const]: enabled } = known;
  const address = protocol && addresses[protocol];
  const malformed = (endpoints ?? []).flatMap((endpoint, index): Fault[] =>
    !address || address.holds(endpoint)
      ? []
      : [
          {
            in: "body",
            pointer: `/data/${channel}_endpoints/${index}`,
            sub_code: "constraint.format",
            detail: address.detail,
          },
        ],
  );
  if (enabled !== true) return malformed;
  const unaddressed = address && endpoints?.length === 0 ? [required(`/data/${channel}_endpoints`)] : [];
  const missing = secretsOf[auth ?? "NONE"].filter((part) => {
    const value = known[`${channel}_${part}`];
    return value === null || value === "";
  });
  return [...malformed, ...unaddressed, ...missing.map((part) => required(`/data/${channel}_${part}`))];
};

const Sent = z.object({ data: z.record(z.string(), z.unknown()) });

/** What is sent over what is stored (or the defaults), as far as each property is right in itself. */
const merged = (sent: unknown, current: Readonly<Record<string, unknown>>): Known => {
  const data = z.safeParse(Sent, sent).data?.data ?? {};
  const whole = { ...switchDefaults, ...current };
  const properties = Object.keys(switchSettings).map((name) => [
    name,
    Object.hasOwn(data, name) ? data[name] : Reflect.get(whole, name),
  ]);
  const { data: known, error } = z.safeParse(z.object(switchSettings), Object.fromEntries(properties));
  if (known) return known;
  const faulty = new Set(error.issues.map(({ path }) => path[0]));
  return z.parse(
    z.partial(z.object(switchSettings)),
    Object.fromEntries(properties.filter(([name]) => !faulty.has(name))),
  );
};

/** All faults of a switch as it would be, with `sent` written over `current`. */
export const switchFaults = (sent: unknown, current: Readonly<Record<string, unknown>> = {}): Fault[] => {
  const known = merged(sent, current);
  return [...channelFaults(known, "sms"), ...channelFaults(known, "mms")];
};
