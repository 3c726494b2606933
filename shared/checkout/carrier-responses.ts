/**
 * The meanings of the carrier's responses, in one table for the client, the documents (`npm run tables`), the simulated carrier and
 * the tests. A gateway may respond in the carrier's place, even while the carrier still processes the call.
 */
export type Meaning = {
  /** The response, for README.md. */
  readonly response: string;
  /** Whether the carrier has acted on this call. */
  readonly acted: "yes" | "no" | "perhaps";
  /** Whether the carrier may act on this call after the response, for as long as one more attempt can take. */
  readonly mayStillAct: boolean;
  /**
   * `done` and `refused`: the carrier has decided. `conflict`: the cart is checked out, unless another attempt is in progress.
   * `denied`: a proxy may have responded, so this is a refusal only if no attempt may have acted. `nothing`: the call is repeated.
   */
  readonly settles: "done" | "refused" | "conflict" | "denied" | "nothing";
};

/** The first row that matches counts. */
export const meanings = {
  success: { response: "2xx", acted: "yes", mayStillAct: false, settles: "done" },
  gone: {
    response: "404 or 410 to a DELETE, with a JSON body",
    acted: "yes",
    mayStillAct: false,
    settles: "done",
  },
  conflict: { response: "409", acted: "perhaps", mayStillAct: false, settles: "conflict" },
  throttled: { response: "429", acted: "no", mayStillAct: false, settles: "nothing" },
  unanswered: {
    response: "408, any 5xx, no response in time, a broken connection",
    acted: "perhaps",
    mayStillAct: true,
    settles: "nothing",
  },
  refusal: {
    response: "422, or any other 4xx whose JSON body has a text `reason`",
    acted: "no",
    mayStillAct: false,
    settles: "refused",
  },
  denial: { response: "any other 4xx, and 501 to the GET", acted: "no", mayStillAct: false, settles: "denied" },
  redirect: { response: "a redirect", acted: "no", mayStillAct: false, settles: "nothing" },
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
  /** The parsed body; undefined if it is not JSON. */
  readonly json: unknown;
  /** The carrier's text for the customer. */
  readonly reason: string | null;
};

/** Returns the row that a response matches. */
export const meaningOf = ({ method, status, json, reason }: Reading): keyof typeof meanings => {
  if (status >= 200 && status < 300) return "success";
  if (method === "DELETE" && (status === 404 || status === 410) && json !== undefined) return "gone";
  if (method === "GET" && status === 501) return "denial";
  if (status === 409) return "conflict";
  if (status === 429) return "throttled";
  if (status === 408 || status < 200 || status >= 500) return "unanswered";
  if (status < 400) return "redirect";
  return status === 422 || reason !== null ? "refusal" : "denial";
};
