/** What a command cannot do, in words that say what to do next; the CLI prints them and exits with 1. */
export class CommandError extends Error {
  override readonly name = "CommandError";
}
