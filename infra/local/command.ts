/** Prints the error and exits. The embedded services stop with this process. */
export const fail = (error: unknown): never => {
  const message = error instanceof Error ? error.message : String(error);
  const inUse = error instanceof Error && "code" in error && error.code === "EADDRINUSE" && "port" in error;
  console.error(inUse ? `Port ${error.port} is in use: pass another --port, or 0 for any free port.` : message);
  process.exit(1);
};

export const portOf = (value: string): number => {
  if (/^\d{1,5}$/.test(value) && Number(value) <= 65_535) return Number(value);
  throw new Error(`The port must be a number from 0 to 65535, not ${value}.`);
};

/** Short options of these commands, by the option that npm takes them for. */
const short: Readonly<Record<string, string>> = { call: "-c" };

/** For a command without options, hints that npm may have taken them. npm does not reveal which. */
export const separatorHint = (script: string, args: readonly string[]): string | undefined => {
  if (process.env.npm_lifecycle_event !== script || args.some((one) => one.startsWith("-"))) return undefined;
  return `If you passed options, put -- before them, because npm takes the others: npm run ${[script, "--", ...args].join(" ")} …`;
};

/** Warns that npm has taken an option that it shares with the command. The option can also be in npm's configuration, for npm only. */
export const warnOfTaken = (script: string, names: readonly string[], args: readonly string[]): void => {
  const { npm_lifecycle_event: running, ...environment } = process.env;
  const taken = names.find((name) => environment[`npm_config_${name}`] === "true" && !args.includes(`--${name}`));
  if (running === script && taken !== undefined)
    console.error(
      `npm took --${taken}. Put -- before the options: npm run ${[script, "--", ...args].join(" ")} --${taken}`,
    );
};

/** Throws if options precede `--`, because npm keeps them. The command would run without them: not as a dry run, or on another stack. */
export const requireSeparator = (script: string, names: readonly string[]): void => {
  const { npm_lifecycle_event: running, ...environment } = process.env;
  const kept = names.find((name) => environment[`npm_config_${name.replaceAll("-", "_")}`]);
  if (running !== script || kept === undefined) return;
  const option = short[kept] ?? `--${kept}`;
  const args = process.argv.slice(2);
  // Some scripts pass on their own name.
  if (args[0] === script) args.shift();
  // `npm start` takes no arguments, so the rest is the option's value.
  const command = script === "start" ? ["npm start --", option, ...args] : [`npm run ${script} --`, ...args, option];
  throw new Error(`npm took ${option} as an option of its own. Put -- before the options: ${command.join(" ")} …`);
};
