import { type Command, InvalidArgumentError } from "commander";
import { ulid } from "ulid";
import { doctorFile } from "../../../shared/attachments/file-keys.ts";
import { putFile, removeFile, signedGet } from "../../../shared/attachments/files.ts";
import { carrierToken, TokenError } from "../../../shared/checkout/carrier-token.ts";
import { env } from "../../../shared/env.ts";
import { directTo } from "../../local/environment.ts";
import { CommandError, UsageError } from "../cli/command-errors.ts";
import { confirm } from "../cli/confirm.ts";
import { type Diagnosis, hasFault, printDiagnoses } from "../cli/diagnosis.ts";
import { type Format, printHeading, printJson, printRows } from "../cli/output.ts";
import { withProgress } from "../cli/progress.ts";
import { type TargetOptions, useTarget } from "../cli/target.ts";
import { add } from "../cli/usage.ts";
import type { Sign } from "./carrier-calls.ts";
import { afterFailure, playContract } from "./carrier-contract.ts";

/** `carrier check`, which finds out whether a carrier does what docs/carrier.md says. */

type Options = Format & { readonly url?: string; readonly yes?: boolean };

const parseUrl = (text: string): string => {
  if (/^https?:\/\/[^?#@]+$/.test(text) && URL.canParse(text)) return text;
  throw new InvalidArgumentError("It must be an http: or https: URL without a user, a query and a fragment.");
};

/** Directs this process to the carrier at a URL, or to that of the target. Returns its address, or its adapter function. */
const useCarrier = async (url: string | undefined, options: TargetOptions): Promise<string> => {
  if (url === undefined) await useTarget(options);
  else directTo({ CARRIER_URL: url, CARRIER_FUNCTION: "", CARRIER_SECRET_ARN: "" });
  if (!process.env.CARRIER_URL && !env.carrierFunction())
    throw new UsageError("The target names no carrier: pass its address with --url.");
  return env.carrierFunction() ?? env.carrierUrl();
};

const readToken = async (): Promise<string | undefined> => {
  try {
    return await carrierToken();
  } catch (error) {
    if (!(error instanceof TokenError)) throw error;
    const remedy = error.isShort ? "ask the carrier for a longer one" : "pass --url, and the token in CARRIER_TOKEN";
    const message = `The carrier cannot be called, because ${error.message}: ${remedy}.`;
    throw new CommandError(message, { cause: error });
  }
};

const urlSeconds = 15 * 60;

/** Stores the letters that an adapter function reads, each content once. `remove` deletes them. */
const letterStore = () => {
  const stored = new Map<string, Promise<string>>();
  const store: Sign = async ({ content, contentType, sha256, sent: { filename } }) => {
    const key = `${doctorFile}-${sha256}`;
    await putFile(key, { content, contentType, sha256, filename });
    return (await signedGet(key, urlSeconds))?.url ?? "";
  };
  return {
    sign: (async (letter) => {
      const url = stored.get(letter.sha256) ?? store(letter);
      stored.set(letter.sha256, url);
      return url;
    }) satisfies Sign,
    remove: () => Promise.all(Array.from(stored.keys(), (sha256) => removeFile(`${doctorFile}-${sha256}`))),
  };
};

const checkCarrier = async ({ url, yes, json }: Options, target: TargetOptions) => {
  const carrier = await useCarrier(url, target);
  if (!yes)
    await confirm(
      `Send about 30 test letters to ${carrier}, and check an order out there, which the carrier keeps? Use a test system.`,
    );
  const token = await readToken();
  const order = ulid();
  const letters = env.carrierFunction() ? letterStore() : undefined;
  const play = () => playContract(order, token, letters?.sign);
  const { diagnoses, latencies } = await withProgress(play, "Checking the carrier …").finally(letters?.remove);
  const isOk = !hasFault(diagnoses);
  if (!isOk) process.exitCode = 1;
  if (json) return printJson({ ok: isOk, carrier, order, checks: diagnoses, latencies, untested });
  const skipped = diagnoses.filter((one) => one.found === afterFailure);
  const made = diagnoses.filter((one) => !skipped.includes(one));
  printHeading("What must hold");
  printDiagnoses(made.filter(({ required }) => required));
  if (skipped.length > 0) console.log(`The other ${skipped.length} checks were skipped: ${afterFailure}.`);
  else {
    printHeading("What it may have");
    printDiagnoses(made.filter(({ required }) => !required));
  }
  printHeading("Calls");
  printRows(latencies, { json });
  printHeading(`What the carrier has stored stays there, under the order ${order}.`);
  console.log(`\n${verdictOf(diagnoses)}`);
};

/** What no call can find out. */
const untested = [
  "whether letters survive a crash",
  "whether keys are kept for 8 days, and open carts for months",
  "whether a 5xx is stored under its key",
  "how late a call without a response acts",
];

const verdictOf = (diagnoses: readonly Diagnosis[]): string => {
  const failed = diagnoses.filter(({ status }) => status === "FAULT").length;
  const verdict =
    failed > 0 ? `It breaks the contract: ${failed} FAULT.` : "It keeps the contract, as far as calls tell.";
  return `${verdict} Not tested: ${untested.join("; ")}.`;
};

export const addCarrierCommands = (carrier: Command): void => {
  add(carrier, "check", "check whether a carrier does what docs/carrier.md says, with a test order of its own")
    .option(
      "--url <base>",
      "its address, called with the token in CARRIER_TOKEN (default: that of the target)",
      parseUrl,
    )
    .option("-y, --yes", "don't ask for confirmation")
    .addHelpText("after", "\nExits with 1 if something that must hold does not.")
    .action((options: Options, command: Command) => checkCarrier(options, command.optsWithGlobals<TargetOptions>()));
};
