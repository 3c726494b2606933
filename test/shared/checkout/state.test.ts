import { readFileSync } from "node:fs";
import { afterAll, expect, it } from "vitest";
import * as z from "zod/mini";
import { readRun } from "../../../shared/checkout/checkout-run.ts";
import { steps } from "../../../shared/checkout/steps.ts";
import { orderWithOneAttachment } from "../../support/fixtures/orders.ts";
import { carrier } from "../../support/servers/carrier.ts";
import { loadStep } from "../../support/servers/workflow.ts";

/**
 * The states that steps of version 1.0 pass to each other. Never change the file, because executions of that version run for up to
 * a week after a deployment, with the definition that they started with and the new functions.
 */
const Exchanges = z.array(
  z.object({
    step: z.string(),
    /** The method of the call to the carrier that gets a 429 in this step. */
    unavailable: z.optional(z.string()),
    state: z.record(z.string(), z.unknown()),
    result: z.record(z.string(), z.unknown()),
  }),
);
const frozen = readFileSync(new URL("states-of-1.0.json", import.meta.url), "utf8");

/** The names of version 1.0's rows, which are the functions that its executions call. Each release replaces the list with its own. */
const released = readFileSync(new URL("steps-of-1.0.json", import.meta.url), "utf8");

const upstream = await carrier();
afterAll(() => upstream.close());

it("every step of the last release keeps its row, since executions of that release call its function", () => {
  expect(steps.map(({ name }) => name)).toEqual(
    expect.arrayContaining(z.parse(z.array(z.string()), JSON.parse(released))),
  );
});

it("the steps read the states of an execution of version 1.0, and write states that it can read", async () => {
  const { id } = await orderWithOneAttachment();
  const text = frozen.replaceAll("ORDER", id);
  for (const [index, { step, unavailable, state, result }] of z.parse(Exchanges, JSON.parse(text)).entries()) {
    const busy = { action: "status", status: 429, headers: { "Retry-After": "600" } } as const;
    if (unavailable) await upstream.misbehave({ method: unavailable, ...busy });
    const cart = (await readRun(id))?.cart ?? null;
    const input = {
      run: "RUN",
      started_at: new Date().toISOString(),
      state: { ...state, ...(typeof state.cart === "string" && { cart }) },
    };
    const written = await loadStep(`checkout/${step}`)?.(input);
    const read_at = Object(written).read_at && "2026-11-21T10:00:00.000Z";
    const named = Object(written).cart && { cart: Object(written).cart === cart ? "CART" : "another" };
    expect({ ...written, ...(read_at && { read_at }), ...named }, `${index}: ${step}`).toEqual(result);
  }
});
