import { isIPv4, isIPv6 } from "node:net";

/** The formats of endpoints. Delivery uses another parser, so all parsers must find the same host in a text. */

/** Labels of 1 to 63 letters, digits, hyphens and underscores, without a hyphen at either end, and at most 253 characters in all. */
const dnsName = /^(?=.{1,253}$)(?:[a-z\d_](?:[a-z\d_-]{0,61}[a-z\d_])?\.)*[a-z\d_](?:[a-z\d_-]{0,61}[a-z\d_])?$/i;

/** Browsers, curl and Node read 127.1, 0x7f000001 and 2130706433 as 127.0.0.1. Other programs look these names up. */
const isLikeIPv4 = (name: string) => /(^|\.)(\d+|0x[\da-f]*)$/i.test(name);

/** Whether a text is an IP address or a DNS name, which may end with a dot. Node rejects invalid Punycode labels. */
const isHost = (host: string): boolean => {
  if (host.startsWith("[")) return /^\[[\da-f:.]+\]$/i.test(host) && isIPv6(host.slice(1, -1));
  const name = host.replace(/\.$/, "");
  if (isLikeIPv4(name)) return isIPv4(host);
  return (
    dnsName.test(name) && URL.canParse(`http://${host}/`) && new URL(`http://${host}/`).hostname === host.toLowerCase()
  );
};

export const isHostAndPort = (text: string): boolean => {
  const [, host, port = "1"] = /^(\[[^\]]*\]|[^:]*)(?::(\d{1,5}))?$/.exec(text) ?? [];
  return host !== undefined && isHost(host) && Number(port) >= 1 && Number(port) <= 65_535;
};

/** The characters of RFC 3986. */
const httpUrl = /^https?:\/\/([^/?#]+)(?:[/?#](?:[\w.~:/?#[\]@!$&'()*+,;=-]|%[\da-f]{2})*)?$/i;

/**
 * Whether a text is an absolute URL as in RFC 3986. Refuses a user name and a password, which would be a secret in the wrong place.
 */
export const isHttpUrl = (text: string): boolean => {
  const [, authority] = httpUrl.exec(text) ?? [];
  const hasOneFragment = text.indexOf("#") === text.lastIndexOf("#");
  return authority !== undefined && hasOneFragment && isHostAndPort(authority) && URL.canParse(text);
};

/**
 * As in the HTML standard, with a dot in the domain, and with the lengths of RFC 5321, which are 64 before the @ and 254 in all.
 */
const emailAddress =
  /^(?=.{1,254}$)[\w.!#$%&'*+/=?^`{|}~-]{1,64}@((?:[a-z\d](?:[a-z\d-]{0,61}[a-z\d])?\.)+[a-z\d](?:[a-z\d-]{0,61}[a-z\d])?)$/i;

/** The domain of an address is a name, because mail programs do not send to 127.0.0.1 or 0x7f.0.0.1 without brackets. */
export const isEmailAddress = (text: string): boolean => {
  const [, domain] = emailAddress.exec(text) ?? [];
  return domain !== undefined && !isLikeIPv4(domain) && isHost(domain);
};
