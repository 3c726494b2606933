/**
 * The meanings of the carrier's responses. The client, the documents (`npm run tables`), the simulated carrier and the tests share
 * this table. Maintenance pages, challenges and gateways respond in the carrier's place, even while the carrier still processes the
 * call. So only what is empty or JSON counts as the carrier's own word.
 */
export type Meaning = {
  /** The response, for README.md. */
  readonly response: string;
  /** Whether the carrier has acted on this call. */
  readonly acted: "yes" | "no" | "perhaps";
  /** Whether the carrier may act on this call after the response, for as long as one more attempt can take. */
  readonly mayStillAct: boolean;
  /**
   * `done` and `refused`: the carrier has decided. `accepted` and `conflict`: the GET decides whether the cart is checked out.
   * `gone`: the carrier does not have the attachment. `differs`: its cart is not what the manifest lists. `denied`: the run ends as a
   * fault, because the response says nothing about a letter. `nothing`: the call is repeated.
   */
  readonly settles: "done" | "accepted" | "gone" | "differs" | "conflict" | "refused" | "denied" | "nothing";
};

/** The first row that matches counts. */
export const meanings = {
  success: {
    response: "200, 201 or 204 that is empty or JSON; to the POST, with `checked_out: true`",
    acted: "yes",
    mayStillAct: false,
    settles: "done",
  },
  unplaced: {
    response: "the same to the POST, with `checked_out: false` (some carriers place the order later)",
    acted: "yes",
    mayStillAct: true,
    settles: "accepted",
  },
  accepted: { response: "the same to the POST, without either", acted: "yes", mayStillAct: true, settles: "accepted" },
  uncommitted: {
    response: "any other 2xx, or a 2xx with a page (neither empty nor JSON)",
    acted: "perhaps",
    mayStillAct: true,
    settles: "nothing",
  },
  gone: { response: "404 or 410 to a DELETE, empty or JSON", acted: "no", mayStillAct: false, settles: "gone" },
  differs: { response: "412 to the POST, empty or JSON", acted: "no", mayStillAct: false, settles: "differs" },
  conflict: { response: "409", acted: "perhaps", mayStillAct: false, settles: "conflict" },
  throttled: { response: "429", acted: "no", mayStillAct: false, settles: "nothing" },
  unanswered: {
    response: "408, any 5xx, no response in time, a broken connection",
    acted: "perhaps",
    mayStillAct: true,
    settles: "nothing",
  },
  refusal: {
    response:
      "any 4xx but 401, 407, 408, 409, 412 and 429 whose JSON body has a text `reason` or, to the POST, `attachments` that names letters of the cart",
    acted: "no",
    mayStillAct: false,
    settles: "refused",
  },
  diverted: { response: "301, 302 or 303 to the POST", acted: "perhaps", mayStillAct: false, settles: "nothing" },
  denial: { response: "any other 4xx, and 501 to the GET", acted: "no", mayStillAct: false, settles: "denied" },
  redirect: { response: "any other redirect", acted: "no", mayStillAct: false, settles: "nothing" },
  unsent: {
    response: "no connection, or no token: the call was not sent",
    acted: "no",
    mayStillAct: false,
    settles: "nothing",
  },
} as const satisfies Record<string, Meaning>;

export type Reading = {
  readonly method: string;
  readonly status: number;
  readonly text: string;
  /** The parsed body, or undefined if it is not JSON. */
  readonly json: unknown;
  /** The carrier's text for the customer. */
  readonly reason: string | null;
};

/** Returns the row that a response matches. */
export const meaningOf = ({ method, status, text, json, reason }: Reading): keyof typeof meanings => {
  const isOwnWord = text.trim() === "" || json !== undefined;
  if ([200, 201, 204].includes(status) && (isOwnWord || method === "GET")) return successOf(method, json);
  if (status >= 200 && status < 300) return "uncommitted";
  if (method === "DELETE" && (status === 404 || status === 410) && isOwnWord) return "gone";
  if (method === "POST" && status === 412 && isOwnWord) return "differs";
  if (method === "POST" && status > 300 && status < 304) return "diverted";
  if (method === "GET" && status === 501) return "denial";
  if (status === 409) return "conflict";
  if (status === 429) return "throttled";
  if (status === 408 || status < 200 || status >= 500) return "unanswered";
  if (status < 400) return "redirect";
  const isVerdict = reason !== null || (method === "POST" && Array.isArray(Object(json).attachments));
  return isVerdict && ![401, 407, 412].includes(status) ? "refusal" : "denial";
};

/** Some carriers respond to the POST before they have placed the order, so only `checked_out: true` is final. */
const successOf = (method: string, json: unknown) => {
  const { checked_out } = Object(json);
  if (method !== "POST" || checked_out === true) return "success";
  return checked_out === false ? "unplaced" : "accepted";
};

/** What an operator looks at after a denial, by its status. */
const cures: Readonly<Record<number, string>> = {
  401: "Check the carrier's token",
  403: "Check the carrier's token and what it permits",
  404: "Check the carrier's address",
  405: "Check the carrier's address",
  407: "Check the token, and the proxy in front of the carrier",
  413: "Raise the size limit of the gateway in front of the carrier",
};

/** What to do about a response that says nothing about a letter. */
export const cureOf = (status: number | null): string =>
  `${cures[status ?? 0] ?? "Ask the carrier, or whoever runs the gateway in front of it, what it means"}, then start the checkout again.`;
