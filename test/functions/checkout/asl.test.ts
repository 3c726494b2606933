import { readFileSync } from "node:fs";
import { StateMachine } from "aws-local-stepfunctions";
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

describe("the workflow file", () => {
  it("is valid", () => {
    const validated = (definition: string) =>
      new StateMachine(JSON.parse(definition), { validationOptions: { checkArn: false } });
    expect(validated(text)).toBeInstanceOf(StateMachine);
    expect(() => validated(text.replace('"Type": "Succeed"', '"Type": "Success"'))).toThrow("is invalid");
  });

  it("uses only features that AWS, LocalStack-compatible emulators and the local runner support", () => {
    expect(text).not.toMatch(/JSONata|QueryLanguage|"Assign"|"Arguments"|"Output"|\$\$\.State|\{%/);
    expect([...text.matchAll(/\$\$\.[\w.]+/g)].map(([path]) => path)).toEqual(["$$.Execution.Name"]);
    expect(new Set(states.map(([, { Type }]) => Type))).toEqual(
      new Set(["Pass", "Task", "Choice", "Wait", "Map", "Succeed", "Fail"]),
    );
  });

  it("times out after a week", () => {
    expect(workflow.TimeoutSeconds).toBe(7 * 24 * 3600);
  });

  it("calls every step and nothing else", () => {
    const called = tasks.map(([, { Parameters }]) => z.parse(placeholder, Parameters).FunctionName);
    expect(called.sort()).toEqual(steps.map(({ name }) => `\${${name.replace("checkout/", "")}}`).sort());
  });

  it.each(tasks)("gives %s the timeout of its step, retries every error and catches it", (_, task) => {
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
    "retries %s three times over at least two minutes, with a retrier of its own for Lambda's errors",
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

  it("leaves retries and errors of the Map to its tasks, and limits its concurrency", () => {
    const { Retry, Catch, MaxConcurrency } = workflow.States.ForwardPages ?? {};
    expect({ Retry, Catch, MaxConcurrency }).toEqual({ Retry: undefined, Catch: undefined, MaxConcurrency: 4 });
  });

  it.each(machines)("reaches each state of $name from its start", ({ startAt, states: all }) => {
    const reached = new Set<string>();
    const visit = (name: string) => {
      if (reached.has(name)) return;
      reached.add(name);
      for (const next of nextOf(all[name])) visit(next);
    };
    visit(startAt);
    expect([...reached].sort()).toEqual(Object.keys(all).sort());
  });

  it("branches on strings that a step has written, and fails on an unknown one", () => {
    const choices = states.filter(([, { Type }]) => Type === "Choice");
    for (const [name, choice] of choices) {
      expect(
        choicesOf(choice).map(({ Variable }) => Variable),
        name,
      ).toSatisfy((paths: string[]) => new Set(paths).size === 1);
      expect(["Fail", "PageEnded"], name).toContain(choice.Default);
    }
    expect(choices.length).toBe(5);
  });
});
