import * as z from "zod/mini";
import { isDefect } from "../errors.ts";
import { log } from "../log.ts";
import type { Step } from "./steps.ts";

const metrics = { step: { ms: "Milliseconds" } } as const;

/** The handler of every step. Parses the part of the workflow's state that the step needs, and writes one log line. */
export const stepHandler =
  <S extends z.core.$ZodType, O extends object>(
    { name }: Step,
    input: S,
    handle: (state: z.output<S>) => Promise<O>,
  ): ((event: unknown) => Promise<O>) =>
  async (event) => {
    const started = Date.now();
    const line = () => ({ step: name, ms: Date.now() - started });
    try {
      const state = z.parse(input, event);
      const output = await handle(state);
      log.info("step", { ...line(), ...logFields(state), ...logFields(output) }, metrics);
      return output;
    } catch (error) {
      log.failure("step", { ...line(), ...(error instanceof Error && { error }) }, isDefect(error), metrics);
      throw error;
    }
  };

const LogFields = z.object({
  order_id: z.optional(z.string()),
  run: z.optional(z.string()),
  next: z.optional(z.string()),
  outcome: z.optional(z.string()),
});

const logFields = (state: unknown) => z.safeParse(LogFields, state).data ?? {};
