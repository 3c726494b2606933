/** An error whose message tells the operator what to do. The CLI prints it and exits with 1. */
export class CommandError extends Error {
  override readonly name = "CommandError";
}
