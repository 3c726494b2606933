/** Prints the error and exits. The embedded services stop with this process. */
export const fail = (error: unknown): never => {
  const message = error instanceof Error ? error.message : String(error);
  const inUse = error instanceof Error && "code" in error && error.code === "EADDRINUSE" && "port" in error;
  console.error(inUse ? `Port ${error.port} is in use: set PORT to another port, or to 0 for any free port.` : message);
  process.exit(1);
};

/** Options of these commands that are short for another option of npm. */
const short: Readonly<Record<string, string>> = { call: "-c" };

/** Throws if options precede `--`. npm keeps them, so the command would run without them: not as a dry run, or on another stack. */
export const requireSeparator = (script: string, names: readonly string[]): void => {
  const { npm_lifecycle_event: running, ...environment } = process.env;
  const kept = names.find((name) => environment[`npm_config_${name.replaceAll("-", "_")}`]);
  if (running !== script || kept === undefined) return;
  const option = short[kept] ?? `--${kept}`;
  const args = process.argv.slice(2);
  // `npm start` takes no arguments: what npm has left is the option's value.
  const command = script === "start" ? ["npm start --", option, ...args] : [`npm run ${script} --`, ...args, option];
  throw new Error(`npm took ${option} as an option of its own. Put -- before the options: ${command.join(" ")} …`);
};
