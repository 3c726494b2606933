import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import * as z from "zod/mini";
import { steps } from "../../../shared/checkout/steps.ts";
import { choicesOf, nextOf, workflow } from "../../support/models/workflow-file.ts";

const text = readFileSync(new URL("../../../functions/checkout/workflow.asl.json", import.meta.url), "utf8");
const { States: inner = {}, StartAt: innerStart = "" } = workflow.States.ForwardPages?.ItemProcessor ?? {};
const machines = [
  { name: "the workflow", startAt: workflow.StartAt, states: workflow.States },
  { name: "its Map", startAt: innerStart, states: inner },
];
const states = machines.flatMap((machine) => Object.entries(machine.states));
const tasks = states.filter(([, { Type }]) => Type === "Task");

const Retrier = z.object({ IntervalSeconds: z.number(), BackoffRate: z.number(), MaxAttempts: z.number() });
const placeholder = z.object({
  FunctionName: z.string().check(z.regex(/^\$\{[a-z]+\}$/)),
  "Payload.$": z.literal("$"),
});

describe("the workflow's file", () => {
  it("keeps to what AWS, LocalStack-compatible endpoints and the local run all understand", () => {
    expect(text).not.toMatch(/JSONata|QueryLanguage|"Assign"|"Arguments"|"Output"|\$\$\.State|\{%/);
    expect([...text.matchAll(/\$\$\.[\w.]+/g)].map(([path]) => path)).toEqual(["$$.Execution.Name"]);
    expect(new Set(states.map(([, { Type }]) => Type))).toEqual(
      new Set(["Pass", "Task", "Choice", "Wait", "Map", "Succeed", "Fail"]),
    );
  });

  it("ends after a week at the latest", () => {
    expect(workflow.TimeoutSeconds).toBe(7 * 24 * 3600);
  });

  it("calls every step, and nothing else", () => {
    const called = tasks.map(([, { Parameters }]) => z.parse(placeholder, Parameters).FunctionName);
    expect(called.sort()).toEqual(steps.map(({ name }) => `\${${name.replace("checkout/", "")}}`).sort());
  });

  it.each(tasks)("gives %s its step's time, tries it again whatever the error is called, and catches it", (_, task) => {
    const name = `checkout/${z.parse(placeholder, task.Parameters).FunctionName.slice(2, -1)}`;
    expect(task).toMatchObject({
      Resource: "arn:aws:states:::lambda:invoke",
      TimeoutSeconds: steps.find((step) => step.name === name)?.timeoutSeconds,
      Retry: [
        { ErrorEquals: expect.arrayContaining(["Lambda.TooManyRequestsException", "Lambda.ServiceException"]) },
        { ErrorEquals: ["States.ALL"] },
      ],
      Catch: [{ ErrorEquals: ["States.ALL"], ResultPath: "$.failure" }],
      OutputPath: "$.Payload",
    });
  });

  it.each(tasks)(
    "tries %s three times more, over two minutes and more, errors of Lambda's own apart",
    (_, { Retry = [] }) => {
      for (const retrier of Retry) {
        const { IntervalSeconds, BackoffRate, MaxAttempts } = z.parse(Retrier, retrier);
        const longest = Array.from({ length: MaxAttempts }, (_, attempt) => IntervalSeconds * BackoffRate ** attempt);
        // Full jitter waits for half of it, on average.
        expect([MaxAttempts, retrier.JitterStrategy]).toEqual([3, "FULL"]);
        expect(longest.reduce((sum, seconds) => sum + seconds) / 2).toBeGreaterThanOrEqual(120);
      }
    },
  );

  it("leaves retries and errors of the Map to its tasks, and bounds its concurrency", () => {
    const { Retry, Catch, MaxConcurrency } = workflow.States.ForwardPages ?? {};
    expect({ Retry, Catch, MaxConcurrency }).toEqual({ Retry: undefined, Catch: undefined, MaxConcurrency: 4 });
  });

  it.each(machines)("leads from $name's start to each of its states, and to no other", ({ startAt, states: all }) => {
    const reached = new Set<string>();
    const visit = (name: string) => {
      if (reached.has(name)) return;
      reached.add(name);
      for (const next of nextOf(all[name])) visit(next);
    };
    visit(startAt);
    expect([...reached].sort()).toEqual(Object.keys(all).sort());
  });

  it("decides by strings that a step has written, and fails on one that nobody knows", () => {
    const choices = states.filter(([, { Type }]) => Type === "Choice");
    for (const [name, choice] of choices) {
      expect(choicesOf(choice).map(({ Variable }) => Variable)).toSatisfy(
        (paths: string[]) => new Set(paths).size === 1,
      );
      expect(["Fail", "PageEnded"], name).toContain(choice.Default);
    }
    expect(choices.length).toBe(5);
  });
});
