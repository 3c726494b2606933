/** An error whose message says what to do next. The CLI prints it and exits with 1. */
export class CommandError extends Error {
  override readonly name = "CommandError";
}
