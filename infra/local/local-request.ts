import type { IncomingMessage } from "node:http";

const loopback = /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d{1,5})?$/i;

/**
 * Whether a request comes from this machine. Browsers mark the requests of other sites' pages; a host name that is not
 * local can be another site's (DNS rebinding).
 */
export const isLocalRequest = ({ headers }: IncomingMessage): boolean => {
  const { host = "", origin, "sec-fetch-site": site = "none" } = headers;
  const sameOrigin = origin === undefined || origin === `http://${host}`;
  return loopback.test(host) && sameOrigin && (site === "none" || site === "same-origin");
};
