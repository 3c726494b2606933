import { Match } from "aws-cdk-lib/assertions";
import { describe, expect, it } from "vitest";
import { synthesize } from "../../support/models/template.ts";

describe("the table's stream", () => {
  it("invokes the function for new events only, halves failing batches, and ends in the queue of dead letters before the stream forgets", () => {
    const { template } = synthesize("production");
    template.hasResourceProperties("AWS::DynamoDB::Table", { StreamSpecification: { StreamViewType: "NEW_IMAGE" } });
    template.hasResourceProperties("AWS::Lambda::EventSourceMapping", {
      EventSourceArn: { "Fn::GetAtt": [Match.stringLikeRegexp("^Table"), "StreamArn"] },
      FilterCriteria: {
        Filters: [{ Pattern: '{"eventName":["INSERT"],"dynamodb":{"Keys":{"sk":{"S":[{"prefix":"EVENT#"}]}}}}' }],
      },
      FunctionResponseTypes: ["ReportBatchItemFailures"],
      BisectBatchOnFunctionError: true,
      MaximumRecordAgeInSeconds: 82_800,
      DestinationConfig: {
        OnFailure: { Destination: { "Fn::GetAtt": [Match.stringLikeRegexp("^DeadLetters"), "Arn"] } },
      },
      StartingPosition: "TRIM_HORIZON",
    });
  });

  it("of a restored table is the one in the settings; without it, no event is published", () => {
    synthesize("anna").template.hasResourceProperties("AWS::Lambda::EventSourceMapping", {
      EventSourceArn: Match.stringLikeRegexp("^arn:aws:dynamodb:eu-central-1:123456789012:table/restored/stream/"),
    });
    synthesize("frugal").template.resourceCountIs("AWS::Lambda::EventSourceMapping", 0);
  });
});

it("the bus keeps 30 days of events in production, none in a sandbox, and all names that its followers need are outputs", () => {
  const { template } = synthesize("production");
  template.hasResourceProperties("AWS::Events::Archive", {
    EventPattern: { source: ["patchbay"] },
    RetentionDays: 30,
  });
  template.hasResourceProperties("AWS::Events::EventBus", { Name: "Patchbay-production" });
  for (const name of ["EventBusName", "EventBusArn", "EventArchiveArn"])
    expect(Object.keys(template.findOutputs(name))).toEqual([name]);
  synthesize("sandbox").template.resourceCountIs("AWS::Events::Archive", 0);
});
