import { createServer } from "node:http";
import { text } from "node:stream/consumers";

const described = (name: string, outputs: Readonly<Record<string, string>>) => {
  const members = Object.entries(outputs)
    .map(([key, value]) => `<member><OutputKey>${key}</OutputKey><OutputValue>${value}</OutputValue></member>`)
    .join("");
  return `<DescribeStacksResponse><DescribeStacksResult><Stacks><member><StackName>${name}</StackName><StackId>arn:aws:cloudformation:us-east-1:000000000000:stack/${name}/1</StackId><StackStatus>CREATE_COMPLETE</StackStatus><CreationTime>2026-01-01T00:00:00Z</CreationTime><Outputs>${members}</Outputs></member></Stacks></DescribeStacksResult></DescribeStacksResponse>`;
};

const noStack =
  "<ErrorResponse><Error><Code>ValidationError</Code><Message>Stack with id X does not exist</Message></Error></ErrorResponse>";

/** A stand-in for CloudFormation that has one stack with these outputs. Knows DescribeStacks. */
export const cloudFormation = (stackName: string, outputs: Readonly<Record<string, string>> = {}) =>
  createServer(async (request, response) => {
    const exists = new URLSearchParams(await text(request)).get("StackName") === stackName;
    response
      .writeHead(exists ? 200 : 400, { "content-type": "text/xml" })
      .end(exists ? described(stackName, outputs) : noStack);
  });
