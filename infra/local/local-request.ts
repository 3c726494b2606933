import type { IncomingMessage } from "node:http";

const loopback = /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d{1,5})?$/i;

/**
 * Whether a request comes from this machine. Browsers mark the requests of other sites' pages; a host name that is not
 * local can be another site's (DNS rebinding). `origins` are those whose pages may send requests, too.
 */
export const isLocalRequest = ({ headers }: IncomingMessage, origins: readonly string[] = []): boolean => {
  const { host = "", origin, "sec-fetch-site": site = "none" } = headers;
  if (!loopback.test(host)) return false;
  if (origin !== undefined && origins.includes(origin)) return true;
  const sameOrigin = origin === undefined || origin === `http://${host}`;
  return sameOrigin && (site === "none" || site === "same-origin");
};
