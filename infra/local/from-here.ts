import type { IncomingMessage } from "node:http";

const loopback = /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d{1,5})?$/i;

/**
 * Whether a request comes from this machine's user: not from a page of another site, which browsers mark, and not by a
 * host name that another site has let point here (DNS rebinding).
 */
export const isFromHere = ({ headers }: IncomingMessage): boolean => {
  const { host = "", origin, "sec-fetch-site": site = "none" } = headers;
  const sameOrigin = origin === undefined || origin === `http://${host}`;
  return loopback.test(host) && sameOrigin && (site === "none" || site === "same-origin");
};
