import { SocketAddress } from "node:net";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isEmailAddress, isHostAndPort, isHttpUrl } from "../../../shared/switches/addresses.ts";
import { byExtent } from "../../support/setup/extent.ts";

const [x63, x64] = ["x".repeat(63), "x".repeat(64)];
/** 253 characters in four labels. */
const longest = `${x63}.${x63}.${x63}.${"x".repeat(61)}`;
/** 254 characters. */
const longestAddress = `${"a".repeat(255 - longest.length)}@${longest.slice(2)}`;

describe("a host and its port", () => {
  it.each([
    ..."a.example A.EXAMPLE a.example. localhost _dmarc.a-b.example a_ 3com.example r3---sn.example".split(" "),
    "xn--mnchen-3ya.example",
    "xn--80ak6aa92e.xn--p1ai",
    "0x7f.example",
    x63,
    longest,
    `${longest}.`,
    ..."10.0.0.1 255.255.255.255 [::1] [2001:DB8::1] [::ffff:192.0.2.1] a.example:1 [::1]:65535".split(" "),
  ])("is %s", (text) => {
    expect([isHostAndPort(text), isHttpUrl(`http://${text}`)]).toEqual([true, true]);
  });

  it.each([
    "",
    ".",
    "a..b",
    ".a",
    "a..",
    "-a.example",
    "a-.example",
    "a.-b.example",
    x64,
    `${longest}x`,
    "a b",
    "é.example",
    ..."127.1 2130706433 0x7f000001 0x7f.1 0177.0.0.1 010.0.0.1 127.0.0.1. 1.2.3 1.2.3.4.5 1.2.3.256 a.0x1 a.7 0x".split(
      " ",
    ),
    ..."[::1 ::1 [] [1.2.3.4] [::1]x [fe80::1%25eth0] [fe80::1%eth0] [v1.a] [::g] [1::2::3] [[::1]]".split(" "),
    ..."a.example: a.example:0 a.example:65536 a.example:000080 a.example:8x a.example:+80 a:80:80 :80".split(" "),
    ..."a%2eexample %31.example a!b a*b a,b a;b a=b a$b a&b a'b a(b) a~b a@b xn--.example".split(" "),
    "１２７.0.0.1",
    "a。b",
    "\u00adhost",
    "a\tb",
    "a\nb",
    "a\u0000b",
    "a\u007fb",
  ])("is not %j", (text) => {
    expect([isHostAndPort(text), isHttpUrl(`http://${text}/`)]).toEqual([false, false]);
  });
});

describe("an HTTP endpoint", () => {
  it.each([
    "HTTPS://A.example:8443/a%20b;c=1/~d?e=f&g[]=/?#h?/",
    "http://a.example?b=c",
    "http://a.example#b",
    "http://a.example/@evil.example/:!$&'()*+,",
    "http://[::1]:3000/",
  ])("is %s", (text) => expect(isHttpUrl(text)).toBe(true));

  it.each([
    "http://h.example\\@evil.example/",
    "https://h.example/a\\b",
    "https://%31%32%37.0.0.1/",
    "https://exa%6Dple.com/",
    "https://u@a.example/",
    "https://u:p@a.example/",
    "https://@a.example/",
    "https://a.example:80@evil.example/",
    "https:/a.example/",
    "https:a.example",
    "https:///a.example",
    "//a.example/",
    "ftp://a.example/",
    "https://a.example/é",
    "https://a.example/%",
    "https://a.example/%2",
    "https://a.example/?%zz",
    "https://a.example/#a#b",
    ...Array.from(' "<>^`{|}\\\t\r\n\0\u007f\u0085\u00a0', (one) => `https://a.example/a${one}b`),
    ...Array.from(" \t\n\0", (one) => [
      `${one}https://a.example/`,
      `https://a.example/${one}`,
      `ht${one}tps://a.example/`,
    ]).flat(),
  ])("is not %j", (text) => expect(isHttpUrl(text)).toBe(false));

  const pieces =
    "http:// HTTPS:// h.example evil.example xn--p1ai 127.0.0.1 0x7f 1 017 [::1] [::ffff:7f00:1] a-b _ - .";
  const others = "/ ? # @ : :80 :443 :0 %31 %2e % \\ ; = & [ ] ! $ ' ( ) * + , ~".split(" ");
  const piece = fc.constantFrom(...pieces.split(" "), ...others, " ", "\t", "\n", "\0", "é", "。");
  const text = fc.array(piece, { maxLength: 9 }).map((all) => all.join(""));
  const url = fc.tuple(fc.constantFrom("http://", "https://"), text).map((both) => both.join(""));

  /** The host in one notation, without brackets. */
  const canonical = (host: string) =>
    host.startsWith("[")
      ? new SocketAddress({ address: host.slice(1, -1), family: "ipv6" }).address
      : host.toLowerCase();

  it("has the same host and port for Node as for RFC 3986", async () => {
    let accepted = 0;
    const isRead = (endpoint: string) => {
      if (!isHttpUrl(endpoint)) return;
      accepted += 1;
      // Appendix B of RFC 3986, and the authority of 3.2.
      const [, scheme = "", authority = ""] = /^([^:/?#]+):\/\/([^/?#]*)/.exec(endpoint) ?? [];
      const [, user, host = "", port] = /^(?:(.*)@)?(.*?)(?::(\d*))?$/.exec(authority) ?? [];
      const { username, password, hostname, port: portForNode, protocol } = new URL(endpoint);
      const standard = protocol === "http:" ? 80 : 443;
      expect([canonical(hostname), Number(portForNode || standard), `${username}${password}`, protocol]).toEqual([
        canonical(host),
        Number(port ?? standard),
        user ?? "",
        `${scheme.toLowerCase()}:`,
      ]);
    };
    await fc.assert(fc.property(url, isRead), { numRuns: byExtent({ sample: 40_000, most: 200_000, all: 1_000_000 }) });
    expect(accepted).toBeGreaterThan(1_000);
  });
});

describe("an email address", () => {
  it.each([
    ..."info@xn--h1alffa9f.xn--p1ai r&d@example.com user/dept@example.com o'neil+tag@mail.example.com a@1.example".split(
      " ",
    ),
    "!#$%&'*+/=?^_`{|}~-.@a-b.example",
    `${x64}@a.example`,
    `a@${x63}.example`,
    longestAddress,
    "A@B.EXAMPLE",
    "a@0x7f.example",
    "a@127.0.0.1.example",
    "a@xn--mnchen-3ya.example",
  ])("is %s", (text) => expect(isEmailAddress(text)).toBe(true));

  it.each([
    ..."a@b-.com a@-b.com a@localhost a@b..com a@.b.com a@b.com. @a.example a@ a a@b@c.example a@b_c.example".split(
      " ",
    ),
    `${x64}x@a.example`,
    `a@${x64}.example`,
    `a${longestAddress}`,
    `a@${longest}`,
    "a@[192.0.2.1]",
    "a b@c.example",
    ...[254, 299].map((length) => `${"a".repeat(length - 10)}@b.example`),
    ..."a@127.1 a@0x7f.0.0.1 a@127.0.0.1 a@192.0.2.1 a@1.2.3.4.5 a@0177.0.0.1 a@b.7 a@b.0x7f a@b.0x a@1.2 a@xn--.example".split(
      " ",
    ),
    '"a b"@c.example',
    "a@é.example",
    "é@a.example",
    "a@b.example\n",
    "\ta@b.example",
    "a,b@c.example",
    "A <a@b.example>",
  ])("is not %j", (text) => expect(isEmailAddress(text)).toBe(false));
});
