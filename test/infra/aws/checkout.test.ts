import { Match, type Template } from "aws-cdk-lib/assertions";
import { describe, expect, it } from "vitest";
import * as z from "zod/mini";
import { placeholderOf } from "../../../functions/checkout/workflow.ts";
import { steps } from "../../../shared/checkout/steps.ts";
import { permissionsOf } from "../../support/models/permissions.ts";
import { synthesize } from "../../support/models/template.ts";

const { template } = synthesize("production");

const Machine = z.object({
  Properties: z.object({ DefinitionString: z.string(), DefinitionSubstitutions: z.record(z.string(), z.unknown()) }),
});
const Task = z.looseObject({
  Type: z.literal("Task"),
  TimeoutSeconds: z.number(),
  Parameters: z.object({ FunctionName: z.string() }),
  Retry: z.array(z.looseObject({ ErrorEquals: z.array(z.string()), MaxAttempts: z.number(), BackoffRate: z.number() })),
  Catch: z.array(z.looseObject({ ErrorEquals: z.array(z.string()), Next: z.string() })),
});

const machine = () => {
  const [resource] = Object.values(template.findResources("AWS::StepFunctions::StateMachine"));
  const { DefinitionString, DefinitionSubstitutions } = z.parse(Machine, resource).Properties;
  return { definition: DefinitionString, substitutions: DefinitionSubstitutions };
};

/** Every task of the definition, at any depth. */
const tasks = (value: unknown): z.infer<typeof Task>[] => {
  if (typeof value !== "object" || value === null) return [];
  if ("Type" in value && value.Type === "Task") return [z.parse(Task, value)];
  return Object.values(value).flatMap(tasks);
};

describe("the state machine", () => {
  it("is a Standard workflow that logs its events without their data", () => {
    template.hasResourceProperties("AWS::StepFunctions::StateMachine", {
      StateMachineType: "STANDARD",
      LoggingConfiguration: { IncludeExecutionData: false },
    });
  });

  it("calls each step by its alias, so that an execution that runs continues with the newest version", () => {
    const { definition, substitutions } = machine();
    const open = [...definition.matchAll(/\$\{(\w+)\}/g)].map((match) => match[1]);
    const names = steps.map(placeholderOf);
    expect([...new Set(open)].sort()).toEqual([...names].sort());
    const alias = expect.stringMatching(/^checkout\w+Aliaslive/);
    expect(substitutions).toEqual(Object.fromEntries(names.map((name) => [name, { Ref: alias }])));
  });

  it("retries and catches every step, with the timeout of its function", () => {
    const found = tasks(JSON.parse(machine().definition));
    expect(found).toHaveLength(steps.length);
    for (const { Parameters, TimeoutSeconds, Retry, Catch } of found) {
      expect(Retry.at(-1)).toMatchObject({ ErrorEquals: ["States.ALL"] });
      expect(Catch).toMatchObject([{ ErrorEquals: ["States.ALL"] }]);
      const step = steps.find((each) => `\${${placeholderOf(each)}}` === Parameters.FunctionName);
      expect(TimeoutSeconds).toBe(step?.timeoutSeconds);
      template.hasResourceProperties("AWS::Lambda::Function", {
        Description: step?.name,
        Timeout: TimeoutSeconds,
      });
    }
  });
});

describe("the log group of the state machine", () => {
  it("has the prefix for vended logs and a name that is unique to the stack", () => {
    template.hasResourceProperties("AWS::Logs::LogGroup", {
      LogGroupName: {
        "Fn::Join": [
          "",
          [
            "/aws/vendedlogs/states/Patchbay-production-",
            { "Fn::Select": [2, { "Fn::Split": ["/", { Ref: "AWS::StackId" }] }] },
          ],
        ],
      },
    });
  });
});

describe("an execution that has failed, timed out or been stopped", () => {
  it("is reported to the function that unlocks the order", () => {
    template.hasResourceProperties("AWS::Events::Rule", {
      State: "ENABLED",
      EventPattern: {
        source: ["aws.states"],
        "detail-type": ["Step Functions Execution Status Change"],
        detail: {
          stateMachineArn: [{ Ref: Match.stringLikeRegexp("^Checkout") }],
          status: ["FAILED", "TIMED_OUT", "ABORTED"],
        },
      },
      Targets: [Match.objectLike({ Arn: { Ref: Match.stringLikeRegexp("^checkoutreleaselockAliaslive") } })],
    });
  });
});

describe("the concurrency that a stage reserves", () => {
  const reserved = (stack: Template) =>
    Object.values(stack.findResources("AWS::Lambda::Function")).flatMap(({ Properties }) =>
      Properties.ReservedConcurrentExecutions
        ? [[Properties.Description, Properties.ReservedConcurrentExecutions]]
        : [],
    );

  it("limits the two steps that call the carrier, and no other function", () => {
    expect(reserved(template).sort()).toEqual([
      ["checkout/forward", 100],
      ["checkout/submit", 100],
    ]);
  });

  it("is none unless the stage sets it", () => {
    expect(reserved(synthesize("emulated").template)).toEqual([]);
  });
});

describe("the carrier", () => {
  it("is configured only for the steps that call it, without its token in any environment", () => {
    const knowing = template.findResources("AWS::Lambda::Function", {
      Properties: {
        Environment: { Variables: { CARRIER_URL: "https://carrier.example", CARRIER_SECRET_ARN: Match.anyValue() } },
      },
    });
    const names = Object.values(knowing).map(({ Properties }) => String(Properties.Description));
    expect(names.sort()).toEqual(["checkout/forward", "checkout/submit"]);
    const functions = JSON.stringify(template.findResources("AWS::Lambda::Function"));
    expect(functions).not.toContain("CARRIER_TOKEN");
    expect(functions).not.toContain("resolve:secretsmanager");
  });

  it.each([
    ["frugal", "adapter", "function:adapter"],
    ["anna", "arn:aws:lambda:us-east-1:111122223333:function:adapter:live", "function:adapter:live"],
  ] as const)("of %s is the function %s, which only these steps may invoke", (name, carrierFunction, resource) => {
    const stack = synthesize(name).template;
    const environment = {
      Variables: Match.objectLike({ CARRIER_FUNCTION: carrierFunction, CARRIER_URL: Match.absent() }),
    };
    stack.resourcePropertiesCountIs("AWS::Lambda::Function", { Environment: environment }, 2);
    const invokers = Object.entries(permissionsOf(stack)).filter(([, all]) =>
      all.some((each) => each.startsWith("lambda:InvokeFunction on ") && each.endsWith(resource)),
    );
    expect(invokers.map(([name]) => name).sort()).toEqual(["checkout/forward", "checkout/submit"]);
  });
});
