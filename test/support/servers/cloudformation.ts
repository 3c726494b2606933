import { createServer } from "node:http";
import { text } from "node:stream/consumers";

/** A stack of the stand-in. Its status is `CREATE_COMPLETE` unless another is given. */
export type Stack = {
  readonly status?: string;
  readonly outputs?: Readonly<Record<string, string>>;
  readonly template?: object;
};

const described = (name: string, { status = "CREATE_COMPLETE", outputs = {} }: Stack) => {
  const members = Object.entries(outputs)
    .map(([key, value]) => `<member><OutputKey>${key}</OutputKey><OutputValue>${value}</OutputValue></member>`)
    .join("");
  return `<DescribeStacksResponse><DescribeStacksResult><Stacks><member><StackName>${name}</StackName><StackId>arn:aws:cloudformation:us-east-1:000000000000:stack/${name}/1</StackId><StackStatus>${status}</StackStatus><CreationTime>2026-01-01T00:00:00Z</CreationTime><Outputs>${members}</Outputs></member></Stacks></DescribeStacksResult></DescribeStacksResponse>`;
};

const templateOf = ({ template = {} }: Stack) =>
  `<GetTemplateResponse><GetTemplateResult><TemplateBody><![CDATA[${JSON.stringify(template)}]]></TemplateBody></GetTemplateResult></GetTemplateResponse>`;

const noStack =
  "<ErrorResponse><Error><Code>ValidationError</Code><Message>Stack with id X does not exist</Message></Error></ErrorResponse>";

/** A stand-in for CloudFormation that has these stacks. Knows DescribeStacks and GetTemplate. */
export const cloudFormation = (stacks: ReadonlyMap<string, Stack>) =>
  createServer(async (request, response) => {
    const parameters = new URLSearchParams(await text(request));
    const name = parameters.get("StackName") ?? "";
    const stack = stacks.get(name);
    const isTemplate = parameters.get("Action") === "GetTemplate";
    response
      .writeHead(stack ? 200 : 400, { "content-type": "text/xml" })
      .end(stack ? (isTemplate ? templateOf(stack) : described(name, stack)) : noStack);
  });
