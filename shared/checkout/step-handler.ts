import * as z from "zod/mini";
import { isDefect } from "../errors.ts";
import { log } from "../log.ts";
import { StepInput } from "./checkout-schema.ts";
import { countLongWait } from "./metrics.ts";
import type { Step } from "./steps.ts";

const metrics = { step: { ms: "Milliseconds" } } as const;

/** The handler of every step. Parses the part of the workflow's state that the step needs, and writes one log line. */
export const stepHandler =
  <S extends z.core.$ZodType<{ readonly order_id: string }>, O extends object>(
    { name }: Step,
    schema: S,
    handle: (state: z.output<S> & { readonly run: string }) => Promise<O>,
  ): ((event: unknown) => Promise<O>) =>
  async (event) => {
    const started = Date.now();
    const line = () => ({ step: name, ms: Date.now() - started });
    try {
      const { run, started_at, state: passed } = z.parse(StepInput, event);
      const state = z.parse(schema, passed);
      const output = await handle({ ...state, run });
      log.info("step", { ...line(), run, ...logFields(state), ...logFields(output) }, metrics);
      const { wait_seconds = 0 } = logFields(output);
      if (wait_seconds > 0) countLongWait({ order_id: state.order_id, run }, new Date(started_at), wait_seconds);
      return output;
    } catch (error) {
      log.failure("step", { ...line(), ...(error instanceof Error && { error }) }, { isOwn: isDefect(error), metrics });
      throw error;
    }
  };

const LogFields = z.object({
  order_id: z.optional(z.string()),
  next: z.optional(z.string()),
  kind: z.optional(z.string()),
  wait_seconds: z.optional(z.number()),
});

const logFields = (state: unknown) => z.safeParse(LogFields, state).data ?? {};
