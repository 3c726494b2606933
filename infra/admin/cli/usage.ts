import { type Command, type CommanderError, InvalidArgumentError, type Option } from "commander";
import { closestMatch } from "leven";
import * as z from "zod/mini";
import { limits } from "../../../shared/limits.ts";
import { OnBehalfOf } from "../../../shared/schema/fields.ts";
import { UsageError } from "./command-errors.ts";
import { parseId } from "./lookups.ts";

/** Helpers that define commands, and the messages for wrong usage. */

export const add = (group: Command, usage: string, description: string): Command => {
  const command = group.command(usage).description(description);
  for (const one of command.registeredArguments) if (/\bid\b/.test(one.name())) one.argParser(parseId);
  if (usage.includes("<id-or-key>"))
    command.addHelpText(
      "after",
      "\n- reads the key from standard input. As an argument, it stays in the shell's history.",
    );
  return command;
};

/** Defines a command that records an event of the operator. */
export const addChange = (group: Command, usage: string, description: string): Command =>
  add(group, usage, description).option(
    "--on-behalf-of <text>",
    "on whose behalf the change is made; its event records it",
    parseEventText,
  );

/** Parses a text for the event of a change. It says on whose behalf, or why, an operator makes it. */
export const parseEventText = (sent: string): string => {
  const { data } = z.safeParse(OnBehalfOf, sent);
  if (data === undefined)
    throw new InvalidArgumentError(
      `It must have 1 to ${limits.onBehalfOfLength} characters, and no control character.`,
    );
  return data;
};

/** `key issue`, without the program's own name. */
export const pathOf = (command: Command): string =>
  command.parent ? `${pathOf(command.parent)} ${command.name()}`.trim() : "";

export const leavesOf = (command: Command): Command[] =>
  command.commands.length > 0 ? command.commands.flatMap(leavesOf) : [command];

/** The programs that infra/patchbay.ts starts besides the operators' commands. */
export const otherPrograms = ["start", "console", "docs", "synth", "deploy", "deploy-local", "destroy"];

/** `--account <id> --user <id> [--label <text>]` */
const parametersOf = (command: Command): string =>
  [
    [...command.commands.map((one) => one.name()), ...(command.parent ? [] : otherPrograms)].join("|"),
    ...command.registeredArguments.map((one) => (one.required ? `<${one.name()}>` : `[${one.name()}]`)),
    ...command.options
      .toSorted((one, other) => Number(other.mandatory) - Number(one.mandatory))
      .map((one) => (one.mandatory ? one.flags : `[${one.flags.replace(/^-\w, /, "")}]`)),
  ]
    .filter(Boolean)
    .join(" ");

export const usageOf = (command: Command): string =>
  ["Usage: patchbay", pathOf(command), parametersOf(command)].filter(Boolean).join(" ");

const missingIn = (command: Command): string[] => {
  const isGiven = (one: Option) => command.getOptionValue(one.attributeName()) !== undefined;
  // One of the mutually exclusive options is required. Commander's types lack the property.
  const choice = command.options.filter((one) => Object(one).conflictsWith.length > 0);
  return [
    ...command.registeredArguments.flatMap((one, index) =>
      one.required && command.args[index] === undefined ? `<${one.name()}>` : [],
    ),
    ...command.options.flatMap((one) => (one.mandatory && !isGiven(one) ? one.flags : [])),
    ...(choice.some(isGiven) ? [] : [choice.map(({ flags }) => flags).join(" or ")].filter(Boolean)),
  ];
};

/** Returns the word that was meant, if one is so similar that it is plausible. At most a third of the letters may be wrong. */
const meant = (typed: string, words: Iterable<string>): string | undefined =>
  closestMatch(typed, [...words], { maxDistance: Math.max(1, Math.floor(typed.length / 3)) });

/** Suggests the commands of a group that a wrong word may mean. For a first word, also suggests those of all groups. */
const suggestion = (group: Command, typed: string): string => {
  const known = group.parent ? group.commands : [...group.commands, ...leavesOf(group)];
  const byName = Map.groupBy(new Set(known.map(pathOf)), (path) => path.slice(path.lastIndexOf(" ") + 1));
  const name = meant(typed, byName.keys());
  if (name === undefined) return "";
  const paths = byName.get(name) ?? [];
  return ` Did you mean ${paths.includes(name) ? name : paths.join(" or ")}?`;
};

/** Rewords Commander's messages. */
const wording: readonly (readonly [RegExp, string])[] = [
  [/^error: unknown option '(.+?)'(?:\n\((.+)\))?/, "There is no option $1. $2"],
  [/^error: option '(?:-\w, )?([^ ']+)(?: [^']*)?' argument '(.*)' is invalid\./s, '$1 cannot be "$2".'],
  [/^error: option '(?:-\w, )?(\S+) (.+)' argument missing/, "$1 needs a value: $2."],
  [/^error: option '(\S+)' cannot be used with option '(\S+)'/, "$1 cannot be used with $2."],
];

/** Commander reports missing arguments and options before unknown ones. */
const unknownOption = ({ args, options }: Command): string | undefined => {
  const typed = args.find((one) => /^--?[a-z]/i.test(one));
  if (typed === undefined) return undefined;
  const nearest = meant(typed, new Set(options.map(({ long }) => long ?? "")));
  return `There is no option ${typed}.${nearest ? ` Did you mean ${nearest}?` : ""}`;
};

const describe = (command: Command, { code, message }: CommanderError): string => {
  const path = pathOf(command);
  const word = command.args.find((one) => one !== "help") ?? "";
  const typed = `${path} ${word}`.trim();
  // Commander does not report `help <unknown>` as an error.
  if (code === "commander.unknownCommand" || (code === "commander.help" && typed !== path))
    return `There is no command ${typed}.${suggestion(command, word)}`;
  if (code === "commander.help") return `${typed || "patchbay"} needs a command.`;
  if (/missing(Mandatory|Argument)/.test(code)) {
    const unknown = unknownOption(command);
    if (unknown) return unknown;
  }
  if (/missing/.test(code)) return `Missing: ${missingIn(command).join(", ")}.`;
  if (code === "commander.excessArguments")
    return `Too many arguments: it takes ${command.registeredArguments.length} and got ${command.args.length}.`;
  return wording.reduce((text, [pattern, words]) => text.replace(pattern, words), message).trim();
};

/** Makes a command throw a UsageError with its usage where Commander would exit with an error. Help begins with the same usage. */
export const throwUsageErrors = (command: Command): void => {
  command.usage(parametersOf(command)).exitOverride((error) => {
    if (error.exitCode === 0) throw error;
    throw Object.assign(new UsageError(describe(command, error)), { usage: usageOf(command) });
  });
  command.commands.forEach(throwUsageErrors);
};
