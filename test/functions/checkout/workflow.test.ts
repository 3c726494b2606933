import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import * as z from "zod/mini";
import { placeholderOf } from "../../../functions/checkout/workflow.ts";
import { steps } from "../../../shared/checkout/steps.ts";
import { nextOf, workflowText as text, workflow } from "../../support/models/workflow-states.ts";

const states = Object.entries(workflow.States);
const tasks = states.filter(([, { Type }]) => Type === "Task");

const Retrier = z.object({
  ErrorEquals: z.array(z.string()),
  IntervalSeconds: z.number(),
  BackoffRate: z.number(),
  MaxAttempts: z.number(),
  MaxDelaySeconds: z.optional(z.number()),
});
const placeholder = z.object({ FunctionName: z.string() });

/** The average total wait of a retrier. Full jitter waits for half of each interval, on average. */
const averageWait = ({
  IntervalSeconds,
  BackoffRate,
  MaxAttempts,
  MaxDelaySeconds = Infinity,
}: z.infer<typeof Retrier>) =>
  Array.from({ length: MaxAttempts }, (_, n) => Math.min(MaxDelaySeconds, IntervalSeconds * BackoffRate ** n)).reduce(
    (sum, seconds) => sum + seconds / 2,
    0,
  );

describe("the workflow", () => {
  it("uses only features that AWS, LocalStack-compatible emulators and the local runner support", () => {
    expect(text).not.toMatch(/JSONata|QueryLanguage|"Assign"|"Arguments"|"Output"|\$\$\.State|\{%/);
    expect(new Set(text.match(/\$\$\.[\w.]+/g))).toEqual(new Set(["$$.Execution.Name", "$$.Execution.StartTime"]));
    expect(new Set(states.map(([, { Type }]) => Type))).toEqual(new Set(["Task", "Choice", "Wait", "Succeed", "Fail"]));
  });

  it("calls every step and nothing else", () => {
    const called = tasks.map(([, { Parameters }]) => z.parse(placeholder, Parameters).FunctionName);
    expect(called.sort()).toEqual(steps.map((step) => `\${${placeholderOf(step)}}`).sort());
  });

  it.each(tasks)(
    "retries %s for two minutes, and for as long as a carrier is waited for if Lambda throttles it",
    (_, task) => {
      const retriers = z.parse(z.array(Retrier), task.Retry);
      const throttled = retriers.find(({ ErrorEquals }) => ErrorEquals.includes("Lambda.TooManyRequestsException"));
      expect(retriers.map(({ MaxAttempts }) => MaxAttempts)).toEqual([10, 3]);
      expect(throttled && averageWait(throttled)).toBeGreaterThan(50 * 60);
      expect(retriers.map(averageWait).every((seconds) => seconds >= 120)).toBe(true);
      expect(retriers.at(-1)?.ErrorEquals).toEqual(["States.ALL"]);
    },
  );

  it("reaches each of its states", () => {
    const reached = new Set<string>();
    const visit = (name: string) => {
      if (reached.has(name)) return;
      reached.add(name);
      for (const next of nextOf(workflow.States[name])) visit(next);
    };
    visit(workflow.StartAt);
    expect([...reached].sort()).toEqual(Object.keys(workflow.States).sort());
  });

  it("fails where a step says nothing that it knows", () => {
    expect(workflow.States.Decide?.Default).toBe("Fail");
  });

  it("has the states and the transitions of its picture, but for those after an error", () => {
    const readme = readFileSync(new URL("../../../shared/checkout/README.md", import.meta.url), "utf8");
    const [, picture = ""] = readme.split("stateDiagram-v2");
    const drawn = [...picture.matchAll(/^ +(\w+) --> (\w+)/gm)].map(([, from, to]) => `${from} ${to}`);
    const transitions = states.flatMap(([name, { Catch: _, ...state }]) =>
      nextOf(state).map((next) => `${name} ${next}`),
    );
    expect(drawn.sort()).toEqual(transitions.sort());
  });
});
