import { setTimeout as sleep } from "node:timers/promises";
import * as z from "zod/mini";
import { fault, notice, ok, skipped } from "../cli/diagnosis.ts";
import { type Answer, type Manifest, shown } from "./carrier-calls.ts";
import {
  briefly,
  type Cart,
  type Check,
  isPage,
  isSame,
  isSuccess,
  keyRemedy,
  manifestOf,
  placeOf,
  saysCheckedOut,
  statusRemedies,
  unconfirmed,
} from "./carrier-cart.ts";
import { letter } from "./carrier-letters.ts";

/** The checks of POST and GET, and of all responses. */

const HeldLetters = z.object({
  attachments: z.array(z.object({ request_id: z.string(), id: z.string(), idempotency_key: z.string() })),
});

/** Reads what the cart has from the response to a wrong manifest. */
const heldIn = ({ json }: Answer): ReadonlyMap<string, string> | undefined => {
  const { data } = z.safeParse(HeldLetters, json);
  return data && new Map(data.attachments.map((one) => [`${one.request_id}/${one.id}`, one.idempotency_key]));
};

/** What the POST has to list. This is what the cart has, as the carrier says, or else what it has confirmed. */
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

export const checkoutChecks: readonly Check[] = [
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
export const optionalChecks: readonly Check[] = [compares, saysSo, asksForToken];
