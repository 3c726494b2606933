import { setTimeout as sleep } from "node:timers/promises";
import { ulid } from "ulid";
import * as z from "zod/mini";
import { type Answer, callsOf, type Manifest, type Sign, Unresponsive } from "./carrier-calls.ts";
import { difficultNames, type Letter, letter, metadataOf, type NewLetter, pdf } from "./carrier-letters.ts";
import type { Verdict } from "./diagnosis.ts";

/**
 * Plays docs/carrier.md against a carrier: the calls of a checkout, right and wrong, for an order of its own. What the cart has shows
 * only in the response to a wrong manifest. So each check makes its calls, and is judged after all of them.
 */

const ok = (found: string): Verdict => ({ status: "ok", found, remedy: null });
const fault = (found: string, remedy: string): Verdict => ({ status: "FAULT", found, remedy });
const notice = (found: string, remedy: string): Verdict => ({ status: "notice", found, remedy });
const skipped = (found: string): Verdict => ({ status: "skipped", found, remedy: null });

/** Later calls would depend on the one that has failed. */
class Ended extends Error {
  readonly verdict: Verdict;

  constructor(verdict: Verdict) {
    super(verdict.found);
    this.verdict = verdict;
  }
}

const shownCharacters = 100;

/** `PUT 422 {"reason": …` */
const shown = ({ call, status, text }: Answer): string => {
  const line = text.replaceAll(/\s+/g, " ").trim();
  const words = line.length > shownCharacters ? `${line.slice(0, shownCharacters)}…` : line;
  return [call.method, status === null ? "without a response:" : status, words].filter(Boolean).join(" ");
};

/** `PUT 201, DELETE 200` */
const briefly = (...answers: readonly Answer[]): string =>
  answers.map(({ call, status }) => `${call.method} ${status}`).join(", ");

const isSuccess = ({ status }: Answer): boolean => status !== null && status >= 200 && status < 300;

/** Neither empty nor JSON. */
const isPage = ({ text, json }: Answer): boolean => text.trim() !== "" && json === undefined;

const isSame = (one: Answer, other: Answer): boolean => one.status === other.status && one.text === other.text;

const CartDocument = z.object({ checked_out: z.boolean() });

const saysCheckedOut = ({ status, json }: Answer): boolean | undefined =>
  status === 200 ? z.safeParse(CartDocument, json).data?.checked_out : undefined;

const HeldLetters = z.object({
  attachments: z.array(z.object({ request_id: z.string(), id: z.string(), idempotency_key: z.string() })),
});

const placeOf = ({ request, id }: Pick<Letter, "request" | "id">): string => `${request}/${id}`;

const manifestOf = (letters: Iterable<Letter>): Manifest =>
  Array.from(letters, ({ request, id, key, sha256 }) => ({ request_id: request, id, idempotency_key: key, sha256 }));

/** What the checks have found out, for each other. */
type Known = {
  /** The response to the GET before any other call. */
  readonly before: Answer;
  /** The first version of a letter that has been replaced. */
  replaced?: Letter;
  /** The letter whose PUT was broken off. */
  damaged?: Letter;
  /** What the cart has, as the carrier says: the keys by place. */
  held?: ReadonlyMap<string, string> | undefined;
  /** The checkout that the carrier has confirmed. */
  checkout?: { readonly answer: Answer; readonly repeat: () => Promise<Answer> };
};

type Cart = Omit<ReturnType<typeof callsOf>, "put" | "putAtOnce"> & {
  readonly known: Known;
  /** The letters by place: all, and those that the carrier has confirmed. */
  readonly sent: Map<string, Letter>;
  readonly confirmed: Map<string, Letter>;
  /** The places that a check of its own judges. */
  readonly special: Set<string>;
  readonly isAdapted: boolean;
  readonly newLetter: (more?: Partial<NewLetter>) => Letter;
  readonly put: (one: Letter) => Promise<Answer>;
  readonly putAtOnce: (letters: readonly Letter[]) => Promise<Answer[]>;
  /** Returns true also if the carrier has not said what the cart has. */
  readonly has: (one: Letter) => boolean;
};

const openCart = async (order: string, token: string | undefined, sign: Sign | undefined): Promise<Cart> => {
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

const storeRemedy = "Return 200, 201 or 204 once the letter is stored, and keep it until the cart is checked out.";
const keyRemedy =
  "Store the response of each 2xx with its method, path and Idempotency-Key. Return it to every repetition, and do nothing else.";

const silenceRemedy =
  "Correct the address, or find out why the carrier does not respond within 30 seconds, and one more for each megabyte.";

const statusRemedies: Readonly<Record<number, string>> = {
  401: "Set CARRIER_TOKEN to a token that the carrier accepts.",
  403: "Set CARRIER_TOKEN to a token that permits this call.",
  404: "Correct the address, or serve this path.",
  405: "Correct the address, or serve this method.",
};

/** Returns a fault for the first call that was not confirmed. */
const unconfirmed = (answers: readonly Answer[], remedy = storeRemedy): Verdict | undefined => {
  const failed = answers.find((one) => !isSuccess(one));
  if (!failed) return undefined;
  return fault(shown(failed), failed.status === null ? silenceRemedy : (statusRemedies[failed.status] ?? remedy));
};

type Check = readonly [name: string, run: (cart: Cart) => Promise<() => Verdict>];

/** Returns two versions of a letter that a check of its own judges. */
const twoVersions = (cart: Cart): readonly [Letter, Letter] => {
  const first = cart.newLetter();
  cart.special.add(placeOf(first));
  return [first, letter({ request: first.request, id: first.id, version: 2 })];
};

/** Whether the cart has the first letter. A carrier that loses every letter has no other fault. */
const isStoring = ({ known, sent }: Cart): boolean => {
  const [first = ""] = sent.keys();
  return known.held?.has(first) ?? true;
};

/** Whether the carrier says that the cart has this version. */
const isHeldAs = ({ known }: Cart, one: Letter): boolean => known.held?.get(placeOf(one)) === one.key;

const putStores: Check = [
  "a PUT stores a letter",
  async (cart) => {
    const answer = await cart.put(cart.newLetter());
    const failed = unconfirmed([answer]);
    if (failed) throw new Ended(failed);
    return () => {
      const all = [...cart.confirmed.values()].filter((one) => !cart.special.has(placeOf(one)));
      const lost = all.filter((one) => !cart.has(one));
      if (lost.length === 0) return ok(briefly(answer));
      return fault(`of ${all.length} letters that it has confirmed, the cart lacks ${lost.length}`, storeRemedy);
    };
  },
];

const putReplaces: Check = [
  "a PUT with another key replaces the letter",
  async (cart) => {
    const [first, second] = twoVersions(cart);
    cart.known.replaced = first;
    const answers = [await cart.put(first), await cart.put(second)];
    const remedy = "A PUT with a new Idempotency-Key is a new version: store it in place of the old one.";
    return () => {
      if (isHeldAs(cart, first)) return fault("the cart still has the first version", remedy);
      return unconfirmed(answers, remedy) ?? ok(briefly(...answers));
    };
  },
];

const putRepeats: Check = [
  "a repeated PUT returns the same response, and does nothing",
  async (cart) => {
    const [first, second] = twoVersions(cart);
    const [stored, again] = [await cart.put(first), await cart.put(first)];
    await cart.put(second);
    const late = await cart.put(first);
    cart.confirmed.set(placeOf(second), second);
    return () => {
      const different = [again, late].find((one) => !isSame(one, stored));
      if (different) return fault(`first ${shown(stored)}, then ${shown(different)}`, keyRemedy);
      const { replaced } = cart.known;
      // A carrier that never replaces a letter has not acted twice.
      const isOld = isHeldAs(cart, first) && !(replaced && isHeldAs(cart, replaced));
      return isOld
        ? fault("a late repetition of an old PUT has replaced the newer version", keyRemedy)
        : ok(briefly(again));
    };
  },
];

const deleteWithdraws: Check = [
  "a DELETE withdraws a letter",
  async (cart) => {
    const [one] = twoVersions(cart);
    const answers = [await cart.put(one), await cart.remove(one)];
    const remedy = "Remove the letter, and return 200 or 204.";
    const failed = unconfirmed(answers, remedy);
    if (!failed) cart.confirmed.delete(placeOf(one));
    return () => failed ?? (isHeldAs(cart, one) ? fault("the cart still has it", remedy) : ok(briefly(...answers)));
  },
];

const deleteRepeats: Check = [
  "a repeated DELETE returns the same response, and does nothing",
  async (cart) => {
    const [first, second] = twoVersions(cart);
    await cart.put(first);
    const removed = await cart.remove(first);
    await cart.put(second);
    const late = await cart.remove(first);
    return () => {
      if (!isSame(removed, late)) return fault(`first ${shown(removed)}, then ${shown(late)}`, keyRemedy);
      const isLost = !cart.has(second) && isStoring(cart);
      return isLost ? fault("a late repetition has removed a letter that had come back", keyRemedy) : ok(briefly(late));
    };
  },
];

const deleteUnknown: Check = [
  "a DELETE of an unknown letter succeeds",
  async (cart) => {
    const answer = await cart.remove(cart.newLetter());
    const isGone = (answer.status === 404 || answer.status === 410) && !isPage(answer);
    const remedy = "Return 200 or 204: the letter is not in the cart, as requested.";
    return () => {
      if (isGone) return notice(shown(answer), `${remedy} A 404 is accepted if it is empty or JSON.`);
      return unconfirmed([answer], remedy) ?? ok(briefly(answer));
    };
  },
];

const twoRequests: Check = [
  "one letter under two requests is two",
  async (cart) => {
    const [one] = twoVersions(cart);
    const twin = letter({ request: ulid(), id: one.id });
    cart.special.add(placeOf(twin));
    const answers = [await cart.put(one), await cart.put(twin)];
    const remedy = "Identify a letter by its request and its id.";
    return () => {
      const isLost = !(cart.has(one) && cart.has(twin)) && isStoring(cart);
      return (
        unconfirmed(answers, remedy) ?? (isLost ? fault("one of them is missing", remedy) : ok(briefly(...answers)))
      );
    };
  },
];

/** Returns the properties of a letter that its response repeats differently. */
const mangled = ({ json }: Answer, sent: Letter): string[] =>
  Object.entries(metadataOf(sent))
    .filter(([name]) => ["name", "notes", "filename", "bytes", "sha256"].includes(name))
    .filter(([name, value]) => Object(json)[name] !== undefined && Object(json)[name] !== value)
    .map(([name]) => `${name} came back as ${JSON.stringify(Object(json)[name])}`);

const storing = (name: string, more: () => Partial<NewLetter>, remedy: string): Check => [
  name,
  async (cart) => {
    const sent = cart.newLetter(more());
    const answer = await cart.put(sent);
    return () => {
      const different = mangled(answer, sent).join(", ");
      return unconfirmed([answer], remedy) ?? (different ? fault(different, remedy) : ok(briefly(answer)));
    };
  },
];

const atOnce = 16;

const sixteenAtOnce: Check = [
  "sixteen calls at once",
  async (cart) => {
    const letters = Array.from({ length: atOnce }, () => cart.newLetter());
    const answers = await cart.putAtOnce(letters);
    const failed = answers.filter((one) => !isSuccess(one));
    const [first] = failed;
    const remedy = "A checkout makes up to 16 calls for one order at once. Each call that is refused waits.";
    return () =>
      first ? fault(`${failed.length} of ${atOnce} failed: ${shown(first)}`, remedy) : ok(`${atOnce} stored`);
  },
];

const brokenOff: Check = [
  "a PUT that is broken off stores nothing",
  async (cart) => {
    const [one] = twoVersions(cart);
    if (cart.isAdapted) return () => skipped("an adapter function reads the file itself");
    cart.known.damaged = one;
    await cart.putDamaged(one);
    return () => {
      if (!cart.known.held) return skipped("the carrier does not say what the cart has");
      const remedy = "Store a letter only if its body is complete.";
      return cart.has(one)
        ? fault("the cart has a letter whose body was not complete", remedy)
        : ok("the cart does not have it");
    };
  },
];

/** Reads what the cart has from the response to a wrong manifest. */
const heldIn = ({ json }: Answer): ReadonlyMap<string, string> | undefined => {
  const { data } = z.safeParse(HeldLetters, json);
  return data && new Map(data.attachments.map((one) => [`${one.request_id}/${one.id}`, one.idempotency_key]));
};

/** What the POST has to list: what the cart has, as the carrier says, else what it has confirmed. */
const rightManifest = ({ known, sent, confirmed }: Cart): Manifest => {
  if (!known.held) return manifestOf(confirmed.values());
  return manifestOf(
    [...known.held].flatMap(([place, key]) => {
      const one = sent.get(place);
      return one ? [{ ...one, key }] : [];
    }),
  );
};

const withOtherKey = ([first, ...others]: Manifest): Manifest =>
  first ? [{ ...first, idempotency_key: "another-key" }, ...others] : [];

const lossRemedy =
  "It may ignore the manifest. But then it checks out a cart without the letters that it has lost, and nobody notices.";
const listRemedy = 'Return 412 with what the cart has: {"attachments": [{"request_id", "id", "idempotency_key"}]}.';

const wrongManifests = [
  ["a letter too many", (cart: Cart) => [...rightManifest(cart), ...manifestOf([cart.newLetter()])]],
  ["a letter too few", (cart: Cart) => rightManifest(cart).slice(1)],
  ["another key", (cart: Cart) => withOtherKey(rightManifest(cart))],
] as const;

/** Sends wrong manifests until the carrier takes one. */
const compares: Check = [
  "it compares the manifest",
  async (cart) => {
    const { known } = cart;
    for (const [index, [name, wrongManifest]] of wrongManifests.entries()) {
      if (index > 0 && rightManifest(cart).length === 0) break;
      const manifest = wrongManifest(cart);
      const send = () => cart.checkOut(manifest, `wrong-${index}`);
      const answer = await send();
      if (isSuccess(answer)) {
        known.checkout = { answer, repeat: send };
        const noticed = wrongManifests.slice(0, index).map(([earlier]) => earlier);
        const found = noticed.length > 0 ? `it notices ${noticed.join(" and ")}, but not ${name}` : "it does not";
        return () => notice(found, lossRemedy);
      }
      if (answer.status !== 412) return () => fault(`a manifest with ${name}: ${shown(answer)}`, listRemedy);
      known.held = heldIn(answer);
      if (!known.held && answer.json !== undefined && Object(answer.json).attachments !== undefined)
        return () => fault(`its list cannot be read: ${shown(answer)}`, listRemedy);
    }
    return () => {
      const own = [...cart.sent.keys(), ...(known.damaged ? [placeOf(known.damaged)] : [])];
      const foreign = [...(known.held?.keys() ?? [])].find((place) => !own.includes(place));
      if (foreign) return fault(`it lists ${foreign}, which is not of this order`, listRemedy);
      if (!known.held) return notice("it does, but does not say what the cart has: all is sent again", listRemedy);
      return ok(`412 for ${wrongManifests.map(([name]) => name).join(", ")}; it lists ${known.held.size} letters`);
    };
  },
];

/** How long a carrier that accepts an order may take to place it. */
const placing = { polls: 15, everyMs: 2_000 } as const;

const checksOut: Check = [
  "a POST checks the cart out",
  async (cart) => {
    const { damaged, held } = cart.known;
    if (damaged && held?.has(placeOf(damaged))) await cart.remove(damaged);
    const manifest = rightManifest(cart);
    const send = () => cart.checkOut(manifest, "right");
    const { answer, repeat } = cart.known.checkout ?? { answer: await send(), repeat: send };
    const remedy = 'Return 200 with {"checked_out": true} once the order is placed.';
    if (answer.status === 412)
      return () =>
        fault(
          `${shown(answer)}, although the manifest is what the cart has`,
          "Compare letter by letter: request, id, key, SHA-256.",
        );
    const failed = unconfirmed([answer], remedy);
    if (failed) return () => failed;
    cart.known.checkout = { answer, repeat };
    if (saysCheckedOut(answer) !== false) return () => ok(briefly(answer));
    for (let left = placing.polls; left > 0; left -= 1) {
      if (saysCheckedOut(await cart.ask()) === true) return () => ok(`${shown(answer)}; later, the GET said true`);
      await sleep(placing.everyMs);
    }
    const seconds = (placing.polls * placing.everyMs) / 1000;
    return () => fault(`${shown(answer)}, and ${seconds} seconds later, the GET has not said true`, remedy);
  },
];

const notCheckedOut = skipped("the cart is not checked out");

const checkoutRepeats: Check = [
  "a repeated POST returns the same response",
  async ({ known: { checkout } }) => {
    if (!checkout) return () => notCheckedOut;
    const again = await checkout.repeat();
    const { answer } = checkout;
    return () =>
      isSame(answer, again) ? ok(briefly(again)) : fault(`first ${shown(answer)}, then ${shown(again)}`, keyRemedy);
  },
];

const refusesLater: Check = [
  "a PUT and a DELETE after the checkout are a 409",
  async (cart) => {
    if (!cart.known.checkout) return () => notCheckedOut;
    const [stored] = cart.confirmed.values();
    const later = stored && letter({ request: stored.request, id: stored.id, version: 9 });
    const answers = later ? [await cart.put(later), await cart.remove(later)] : [];
    const wrong = answers.filter(({ status }) => status !== 409);
    const remedy = "Change nothing once the order is placed, and return 409 for every new Idempotency-Key.";
    return () => (wrong.length > 0 ? fault(wrong.map(shown).join(", "), remedy) : ok(briefly(...answers)));
  },
];

const tells: Check = [
  "the GET tells whether the cart is checked out",
  async (cart) => {
    const { before, checkout } = cart.known;
    const after = checkout && (await cart.ask());
    const remedy = 'Return 200 with {"checked_out": false} until the order is placed, then true, from no cache.';
    return () => {
      const { status } = before;
      const cannotSay = status !== null && (status === 501 || (status >= 400 && status < 500));
      if (cannotSay && status !== 401 && status !== 407)
        return notice(
          `it cannot say: ${shown(before)}`,
          "Then Patchbay repeats a POST without a response, and takes a 409 for an order that is placed.",
        );
      const [first, last] = [saysCheckedOut(before), after && saysCheckedOut(after)];
      if (first !== false) return fault(`before the checkout, ${shown(before)}`, statusRemedies[status ?? 0] ?? remedy);
      if (after && last !== true) return fault(`after the checkout, ${shown(after)}`, remedy);
      return ok(after ? "false before the checkout, true after it" : "false before the checkout");
    };
  },
];

/** The responses that something in front of the carrier could have sent. */
const judged = ({ answers }: Cart): Answer[] =>
  answers.filter(({ call }) => call.method !== "GET" && call.token === undefined && !call.isDamaged);

const sendsNoPage: Check = [
  "no response is a page",
  async (cart) => () => {
    const counted = judged(cart).filter((one) => isSuccess(one) || [409, 412, 422].includes(one.status ?? 0));
    const [page, ...others] = counted.filter(isPage);
    const remedy =
      "Return JSON, or nothing. A page does not count, because maintenance pages and firewalls return such, too.";
    if (!page) return ok(`${counted.length} responses are JSON or empty`);
    return fault(`${shown(page)}${others.length > 0 ? `, and ${others.length} more` : ""}`, remedy);
  },
];

const commits: Check = [
  "no response is a 202",
  async (cart) => () => {
    const vague = judged(cart).filter((one) => isSuccess(one) && ![200, 201, 204].includes(one.status ?? 0));
    const [first] = vague;
    const remedy =
      "Return 200, 201 or 204 when you have acted. Other successes promise nothing, so the call is repeated.";
    return first ? fault(`${vague.length} responses: ${shown(first)}`, remedy) : ok("successes are 200, 201 or 204");
  },
];

const asksForToken: Check = [
  "it asks for a token",
  async (cart) => {
    const one = cart.newLetter();
    const answers = [await cart.remove(one, { token: "another-token" }), await cart.remove(one, { token: null })];
    const open = answers.find(({ status }) => ![401, 403, 407].includes(status ?? 0));
    return () =>
      open ? notice(shown(open), "Whoever can reach it can change carts: require the token.") : ok(briefly(...answers));
  },
];

const saysSo: Check = [
  "the POST says `checked_out`",
  async ({ known: { checkout } }) => {
    if (!checkout) return () => notCheckedOut;
    const { answer } = checkout;
    return () =>
      saysCheckedOut(answer) === undefined
        ? notice(shown(answer), "Then Patchbay asks once by the GET.")
        : ok(briefly(answer));
  },
];

const storeRemedies = {
  names: "Take names from `metadata`, which is JSON in UTF-8, and store them as they are.",
  tiny: "A file has 1 byte to 100 MiB.",
  large: "Raise the limits of your server, and of the gateway in front of it: a file has up to 100 MiB.",
} as const;

/** In the order of their calls. */
const checks: readonly Check[] = [
  putStores,
  putReplaces,
  putRepeats,
  deleteWithdraws,
  deleteRepeats,
  deleteUnknown,
  twoRequests,
  storing("names with quotes and beyond ASCII", () => ({ sent: difficultNames }), storeRemedies.names),
  storing("a file of 1 byte", () => ({ content: Buffer.from("x"), sent: { filename: "x.txt" } }), storeRemedies.tiny),
  storing("a file of 10 MB", () => ({ content: pdf(10_000_000) }), storeRemedies.large),
  sixteenAtOnce,
  brokenOff,
  asksForToken,
  compares,
  checksOut,
  checkoutRepeats,
  refusesLater,
  tells,
  sendsNoPage,
  commits,
  saysSo,
];

/** What a carrier may lack. */
const optional: readonly Check[] = [compares, saysSo, asksForToken];

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;

/** The times of the calls that got a response, in milliseconds. */
const latenciesOf = (answers: readonly Answer[]) => {
  const kindOf = ({ call: { method, letter: sent } }: Answer) =>
    (sent?.content.length ?? 0) > 1_000_000 ? `${method} of 10 MB` : method;
  return [
    ...Map.groupBy(
      answers.filter(({ status }) => status !== null),
      kindOf,
    ),
  ].map(([call, some]) => {
    const times = some.map(({ ms }) => Math.round(ms));
    return { call, responses: times.length, median_ms: median(times), longest_ms: Math.max(...times) };
  });
};

/** Returns the verdict on the check that could not go on. Throws any other error. */
const verdictOn = (error: unknown, answers: readonly Answer[]): Verdict => {
  if (error instanceof Ended) return error.verdict;
  if (!(error instanceof Unresponsive)) throw error;
  const last = answers.at(-1);
  return fault(last ? shown(last) : "no response", silenceRemedy);
};

export const afterFailure = "an earlier call has failed";

/** Makes the calls of all checks, then judges them. With `sign`, the calls go to the adapter function. */
export const playContract = async (order: string, token: string | undefined, sign?: Sign) => {
  const cart = await openCart(order, token, sign);
  const judges: (() => Verdict)[] = [];
  let end: Verdict | undefined;
  for (const [, run] of checks) {
    if (end) {
      judges.push(() => skipped(afterFailure));
      continue;
    }
    const stop = (error: unknown) => {
      const verdict = verdictOn(error, cart.answers);
      end = verdict;
      return () => verdict;
    };
    judges.push(await run(cart).catch(stop));
  }
  const diagnoses = checks.flatMap((check, index) => {
    const verdict = judges[index]?.();
    return verdict ? { check: check[0], required: !optional.includes(check), ...verdict } : [];
  });
  return { diagnoses, latencies: latenciesOf(cart.answers) };
};
