import { findRunning } from "../local/state.ts";

/** What a command cannot do, in one line that says what to do next; the CLI prints it and exits with 1. */
export class CommandError extends Error {
  override readonly name = "CommandError";
}

/**
 * Points the process at a table and a bucket before anything makes a client: those that the environment names, else
 * those of the local stack that is running.
 */
export const useEnvironment = (): void => {
  if (process.env.TABLE_NAME) return;
  const running = findRunning();
  if (!running)
    throw new CommandError(
      "There is no local stack running: start one with `npm start`, or name a table with TABLE_NAME (and BUCKET_NAME, AWS_REGION).",
    );
  Object.assign(process.env, running.environment, {
    AWS_REGION: "us-east-1",
    AWS_ACCESS_KEY_ID: "local",
    AWS_SECRET_ACCESS_KEY: "local",
  });
};
