import { ulid } from "ulid";
import * as z from "zod/mini";
import { fault, type Verdict } from "../cli/diagnosis.ts";
import { type Answer, callsOf, type Manifest, type Sign, shown, silenceRemedy } from "./carrier-calls.ts";
import { type Letter, letter, type NewLetter } from "./carrier-letters.ts";

/** The cart of `carrier check`, what its checks know about it, and their verdicts. */

/** `PUT 201, DELETE 200` */
export const briefly = (...answers: readonly Answer[]): string =>
  answers.map(({ call, status }) => `${call.method} ${status}`).join(", ");

export const isSuccess = ({ status }: Answer): boolean => status !== null && status >= 200 && status < 300;

/** Whether a response is neither empty nor JSON. */
export const isPage = ({ text, json }: Answer): boolean => text.trim() !== "" && json === undefined;

export const isSame = (one: Answer, other: Answer): boolean => one.status === other.status && one.text === other.text;

const CartDocument = z.object({ checked_out: z.boolean() });

export const saysCheckedOut = ({ status, json }: Answer): boolean | undefined =>
  status === 200 ? z.safeParse(CartDocument, json).data?.checked_out : undefined;

export const placeOf = ({ request, id }: Pick<Letter, "request" | "id">): string => `${request}/${id}`;

export const manifestOf = (letters: Iterable<Letter>): Manifest =>
  Array.from(letters, ({ request, id, key, sha256 }) => ({ request_id: request, id, idempotency_key: key, sha256 }));

/** What the checks have found out, for each other. */
type Known = {
  /** The response to the GET before any other call. */
  readonly before: Answer;
  /** The first version of a letter that has been replaced. */
  replaced?: Letter;
  /** The letter whose PUT was broken off. */
  damaged?: Letter;
  /** What the cart has, as the carrier says. It maps places to keys. */
  held?: ReadonlyMap<string, string> | undefined;
  /** The checkout that the carrier has confirmed. */
  checkout?: { readonly answer: Answer; readonly repeat: () => Promise<Answer> };
};

export type Cart = Omit<ReturnType<typeof callsOf>, "put" | "putAtOnce"> & {
  readonly known: Known;
  /** The letters that were sent, by place. */
  readonly sent: Map<string, Letter>;
  readonly confirmed: Map<string, Letter>;
  /** The places that a check of its own judges. */
  readonly special: Set<string>;
  readonly isAdapted: boolean;
  readonly newLetter: (more?: Partial<NewLetter>) => Letter;
  readonly put: (one: Letter) => Promise<Answer>;
  readonly putAtOnce: (letters: readonly Letter[]) => Promise<Answer[]>;
  /** Returns true, too, if the carrier has not said what the cart has. */
  readonly has: (one: Letter) => boolean;
};

export const openCart = async (order: string, token: string | undefined, sign: Sign | undefined): Promise<Cart> => {
  const calls = callsOf(order, token, sign);
  const request = ulid();
  const known: Known = { before: await calls.ask() };
  const [sent, confirmed] = [new Map<string, Letter>(), new Map<string, Letter>()];
  const recorded = (one: Letter, answer: Answer): Answer => {
    sent.set(placeOf(one), one);
    if (isSuccess(answer)) confirmed.set(placeOf(one), one);
    return answer;
  };
  return {
    ...calls,
    known,
    sent,
    confirmed,
    special: new Set(),
    isAdapted: sign !== undefined,
    newLetter: (more) => letter({ request, id: ulid(), ...more }),
    put: async (one) => recorded(one, await calls.put(one)),
    putAtOnce: (letters) => calls.putAtOnce(letters, recorded),
    has: (one) => known.held?.has(placeOf(one)) ?? true,
  };
};

export const storeRemedy =
  "Return 200, 201 or 204 once the letter is stored, and keep it until the cart is checked out.";
export const keyRemedy =
  "Store the response of each 2xx with its method, path and Idempotency-Key. Return it to every repetition, and do nothing else.";

export const statusRemedies: Readonly<Record<number, string>> = {
  401: "Set CARRIER_TOKEN to a token that the carrier accepts.",
  403: "Set CARRIER_TOKEN to a token that permits this call.",
  404: "Correct the address, or serve this path.",
  405: "Correct the address, or serve this method.",
};

/** Returns a fault for the first call that was not confirmed. */
export const unconfirmed = (answers: readonly Answer[], remedy = storeRemedy): Verdict | undefined => {
  const failed = answers.find((one) => !isSuccess(one));
  if (!failed) return undefined;
  return fault(shown(failed), failed.status === null ? silenceRemedy : (statusRemedies[failed.status] ?? remedy));
};

export type Check = readonly [name: string, run: (cart: Cart) => Promise<() => Verdict>];
