import { ulid } from "ulid";
import * as z from "zod/mini";
import { tryOnce } from "../../../shared/checkout/carrier-client.ts";
import { carrierToken, TokenError } from "../../../shared/checkout/carrier-token.ts";
import { env } from "../../../shared/env.ts";
import { fault, notice, ok, type Verdict } from "../cli/diagnosis.ts";

/** The question of `doctor` to the carrier. It is a GET of a cart that does not exist. */

const CartDocument = z.object({ checked_out: z.boolean() });

const timeoutMs = 10_000;

/** The operators of a stack need not be allowed to read the carrier's token. */
const readToken = async () => {
  try {
    return { token: await carrierToken(), untried: undefined, isShort: false };
  } catch (error) {
    if (!(error instanceof TokenError)) throw error;
    return { token: undefined, untried: error.message, isShort: error.isShort };
  }
};

/** What to do, by the status of the response. */
const remedyOf = (status: number | null): string => {
  if (status === null) return "Start the carrier, or correct its address.";
  if (status === 401 || status === 403 || status === 407) return "Store the token that the carrier has issued.";
  if (status >= 500) return "Ask the carrier when it is available. Until then, checkouts wait.";
  return "Correct the carrier's address: no carrier serves this one.";
};

/**
 * Asks the carrier. `isHere` says that checkouts run on this machine. Those of a deployed stack may reach a carrier that this
 * machine does not reach, so that is only a notice.
 */
export const askCarrier = async ({ isHere }: { readonly isHere: boolean }): Promise<Verdict> => {
  const carrier = env.carrierFunction() ?? process.env.CARRIER_URL;
  if (!carrier) return notice("the target names none", "Set CARRIER_URL.");
  const { token, untried, isShort } = await readToken();
  if (isShort) return fault(`${carrier} is not called, because ${untried}`, "Ask the carrier for a longer one.");
  const call = { method: "GET", path: `/carts/${ulid()}` } as const;
  const { status, text, json } = await tryOnce(call, { body: null, file: null }, token, Date.now() + timeoutMs);
  const { data: cart } = z.safeParse(CartDocument, status === 200 ? json : undefined);
  if (cart?.checked_out === false) return ok(`${carrier} responds`);
  const words = text.replaceAll(/\s+/g, " ").trim().slice(0, 100);
  const found = `${carrier}: ${[status, words].filter(Boolean).join(" ")}`;
  const asksForToken = status === 401 || status === 403;
  if (asksForToken && untried) return ok(`${carrier} asks for its token, which was not tried: ${untried}`);
  if (asksForToken && !token) return notice(found, "Set CARRIER_TOKEN in this shell, too.");
  if ([404, 405, 501].includes(status ?? 0) && json !== undefined)
    return notice(
      `${found}: it cannot say whether a cart is checked out, or this is not its address`,
      "`./patchbay carrier check` tells, on a test system.",
    );
  const remedy = remedyOf(status);
  if (!isHere && (status === null || status === 403))
    return notice(found, `${remedy} It may also take calls from the functions only.`);
  return fault(found, remedy);
};
