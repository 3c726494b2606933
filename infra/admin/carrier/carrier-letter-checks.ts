import { ulid } from "ulid";
import { fault, notice, ok, skipped } from "../cli/diagnosis.ts";
import { type Answer, ChecksStopped, shown } from "./carrier-calls.ts";
import {
  briefly,
  type Cart,
  type Check,
  isPage,
  isSame,
  isSuccess,
  keyRemedy,
  placeOf,
  storeRemedy,
  unconfirmed,
} from "./carrier-cart.ts";
import { difficultNames, type Letter, letter, metadataOf, type NewLetter, pdf } from "./carrier-letters.ts";

/** The checks of PUT and DELETE. */

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
    if (failed) throw new ChecksStopped(failed);
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
      if (!isSuccess(stored)) return skipped(shown(stored));
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
      if (!isSuccess(removed)) return skipped(shown(removed));
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
    const isGone = answer.status === 404 || answer.status === 410;
    const remedy =
      "Return 200 or 204: the letter is not in the cart, as requested. A 404 counts only if it is empty or JSON.";
    return () => {
      if (isGone) return isPage(answer) ? fault(shown(answer), remedy) : notice(shown(answer), remedy);
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
      // A carrier may judge that one byte is no letter.
      if (sent.content.length === 1 && answer.status === 422) return notice(shown(answer), remedy);
      const isName = /^(name|notes|filename) /.test(different);
      const failed = unconfirmed([answer], remedy);
      if (failed || !different) return failed ?? ok(briefly(answer));
      return fault(different, isName ? storeRemedies.names : storeRemedies.content);
    };
  },
];

const atOnce = 16;

const sixteenAtOnce: Check = [
  "sixteen calls at once",
  async (cart) => {
    const letters = Array.from({ length: atOnce }, () => cart.newLetter());
    for (const one of letters) cart.special.add(placeOf(one));
    const answers = await cart.putAtOnce(letters);
    const failed = answers.filter((one) => !isSuccess(one));
    const [first] = failed;
    const remedy = "A checkout makes up to 16 calls for one order at once. Each call that is refused waits.";
    return () => {
      if (first) return fault(`${failed.length} of ${atOnce} failed: ${shown(first)}`, remedy);
      if (!cart.known.held) return ok(`${atOnce} confirmed; the carrier does not say what the cart has`);
      const lost = isStoring(cart) ? letters.filter((one) => !cart.has(one)).length : 0;
      const lossRemedy = "Change a cart in one transaction, or by one call at a time.";
      return lost > 0 ? fault(`${atOnce} confirmed, and the cart lacks ${lost}`, lossRemedy) : ok(`${atOnce} stored`);
    };
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

const damaged: Check = [
  "a PUT whose file differs from its SHA-256 is a 400, and its key stays free",
  async (cart) => {
    const [one] = twoVersions(cart);
    const broken = await cart.put({ ...one, declared: "0".repeat(64) });
    const again = await cart.put(one);
    if (isSuccess(broken)) {
      // Its SHA-256 differs from the manifest's.
      await cart.remove(one);
      cart.confirmed.delete(placeOf(one));
    }
    const verify = "Compare the file with `bytes` and `sha256`, and return 400 without a `reason`.";
    const free =
      "Store the response of a 2xx only. After any other response, the next call with the key is a new attempt.";
    return () => {
      if (isSuccess(broken) || typeof Object(broken.json).reason === "string")
        return fault(`a file of another SHA-256: ${shown(broken)}`, verify);
      return unconfirmed([again], free)
        ? fault(`the same key, undamaged: ${shown(again)}`, free)
        : ok(briefly(broken, again));
    };
  },
];

const storeRemedies = {
  names: "Take names from `metadata`, which is JSON in UTF-8, and store them as they are.",
  content: "Store the bytes of the file as they were sent, and their SHA-256.",
  tiny: "A file has 1 byte to 100 MiB.",
  large: "Raise the limits of your server, and of the gateway in front of it: a file has up to 100 MiB.",
} as const;

export const letterChecks: readonly Check[] = [
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
  damaged,
];
