import { Match } from "aws-cdk-lib/assertions";
import { describe, expect, it } from "vitest";
import { placeholderOf } from "../../../functions/checkout/workflow.ts";
import { steps } from "../../../shared/checkout/steps.ts";
import { permissionsOf } from "../../support/models/permissions.ts";
import { functionsWith, synthesize } from "../../support/models/template.ts";

const { template } = synthesize("production");

describe("the state machine", () => {
  const [machine] = Object.values(template.findResources("AWS::StepFunctions::StateMachine"));
  const { DefinitionString, DefinitionSubstitutions } = machine?.Properties ?? {};

  it("is a Standard workflow that logs its events without their data", () => {
    template.hasResourceProperties("AWS::StepFunctions::StateMachine", {
      StateMachineType: "STANDARD",
      LoggingConfiguration: { IncludeExecutionData: false },
    });
  });

  it("calls each step by its alias, so that an execution that runs continues with the newest version", () => {
    const alias = expect.stringMatching(/^checkout\w+Aliaslive/);
    expect(DefinitionSubstitutions).toEqual(
      Object.fromEntries(steps.map((step) => [placeholderOf(step), { Ref: alias }])),
    );
  });

  it("has for each step the timeout of its function", () => {
    const found = String(DefinitionString).matchAll(/"FunctionName":"\$\{(\w+)\}".*?"TimeoutSeconds":(\d+)/g);
    expect(Object.fromEntries([...found].map(([, name, seconds]) => [name, Number(seconds)]))).toEqual(
      Object.fromEntries(steps.map((step) => [placeholderOf(step), step.timeoutSeconds])),
    );
    for (const { name: Description, timeoutSeconds: Timeout } of steps)
      template.hasResourceProperties("AWS::Lambda::Function", { Description, Timeout });
  });
});

it("an execution that has failed, timed out or been stopped is reported to the function that unlocks the order", () => {
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

/** The steps that call the carrier. */
const calling = ["checkout/forward", "checkout/submit"];

it("the concurrency that a stage reserves limits the steps that call the carrier, and no other function", () => {
  const reserved = { ReservedConcurrentExecutions: Match.anyValue() };
  expect(functionsWith(template, reserved)).toEqual(calling);
  expect(functionsWith(template, { ReservedConcurrentExecutions: 100 })).toEqual(calling);
  expect(functionsWith(synthesize("emulated").template, reserved)).toEqual([]);
});

describe("the carrier", () => {
  it("is configured only for the steps that call it, without its token in any environment", () => {
    const Variables = { CARRIER_URL: "https://carrier.example", CARRIER_SECRET_ARN: Match.anyValue() };
    expect(functionsWith(template, { Environment: { Variables } })).toEqual(calling);
    const functions = JSON.stringify(template.findResources("AWS::Lambda::Function"));
    expect(functions).not.toContain("CARRIER_TOKEN");
    expect(functions).not.toContain("resolve:secretsmanager");
  });

  it.each([
    ["frugal", "adapter", "function:adapter"],
    ["anna", "arn:aws:lambda:us-east-1:111122223333:function:adapter:live", "function:adapter:live"],
  ] as const)("of %s is the function %s, which only these steps may invoke", (name, carrierFunction, resource) => {
    const stack = synthesize(name).template;
    const Variables = { CARRIER_FUNCTION: carrierFunction, CARRIER_URL: Match.absent() };
    expect(functionsWith(stack, { Environment: { Variables } })).toEqual(calling);
    const invokers = Object.entries(permissionsOf(stack)).filter(([, all]) =>
      all.some((each) => each.startsWith("lambda:InvokeFunction on ") && each.endsWith(resource)),
    );
    expect(invokers.map(([name]) => name).sort()).toEqual(calling);
  });
});
