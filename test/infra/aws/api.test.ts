import { Match } from "aws-cdk-lib/assertions";
import { describe, expect, it } from "vitest";
import { functionNames } from "../../../infra/aws/bundle.ts";
import { steps } from "../../../shared/checkout/steps.ts";
import { routes } from "../../../shared/routes.ts";
import { functionsWith, synthesize } from "../../support/models/template.ts";
import { errorBody } from "../../support/requests/client.ts";

const { template } = synthesize("production");

const gatewayResponses = new Map(
  Object.values(template.findResources("AWS::ApiGateway::GatewayResponse")).map(({ Properties }) => [
    String(Properties.ResponseType),
    Properties,
  ]),
);
const bodyOf = (type: string) => JSON.parse(gatewayResponses.get(type)?.ResponseTemplates["application/json"] ?? "{}");

/**
 * Every response type that API Gateway documents, with its status here. The status of DEFAULT_4XX would replace the
 * statuses of all 4xx types that have no response of their own. https://docs.aws.amazon.com/apigateway/latest/api/API_GatewayResponse.html
 */
const statuses = {
  ACCESS_DENIED: "404",
  API_CONFIGURATION_ERROR: "500",
  AUTHORIZER_CONFIGURATION_ERROR: "500",
  AUTHORIZER_FAILURE: "500",
  BAD_REQUEST_BODY: "422",
  BAD_REQUEST_PARAMETERS: "422",
  DEFAULT_4XX: undefined,
  DEFAULT_5XX: "500",
  EXPIRED_TOKEN: "404",
  INTEGRATION_FAILURE: "503",
  INTEGRATION_TIMEOUT: "503",
  INVALID_API_KEY: "401",
  INVALID_SIGNATURE: "404",
  MISSING_AUTHENTICATION_TOKEN: "404",
  QUOTA_EXCEEDED: "429",
  REQUEST_TOO_LARGE: "413",
  RESOURCE_NOT_FOUND: "404",
  THROTTLED: "429",
  UNAUTHORIZED: "401",
  UNSUPPORTED_MEDIA_TYPE: "404",
  WAF_FILTERED: "403",
};

describe("a response of the gateway itself", () => {
  it("has a defined status for every type", () => {
    const found = [...gatewayResponses].map(([type, { StatusCode }]) => [type, StatusCode] as const);
    expect(Object.fromEntries(found.sort())).toEqual(statuses);
  });

  it.each(Object.keys(statuses))("is one error in the error envelope, with the request id: %s", (type) => {
    const text = expect.any(String);
    expect(bodyOf(type)).toEqual({
      errors: [expect.objectContaining({ code: text, title: text, detail: text, sub_code: text })],
    });
    expect(gatewayResponses.get(type)?.ResponseParameters).toMatchObject({
      "gatewayresponse.header.X-Request-Id": "context.requestId",
      "gatewayresponse.header.Cache-Control": "'no-store'",
    });
  });

  it("to a request that is too large names the limit of the functions, regardless of the deployer's environment", () => {
    const { template: small } = synthesize("anna");
    small.hasResourceProperties("AWS::ApiGateway::GatewayResponse", {
      ResponseType: "REQUEST_TOO_LARGE",
      ResponseTemplates: {
        "application/json": Match.stringLikeRegexp('"params":{"limit_bytes":1234567,"direct_upload":true}'),
      },
    });
    const reading = routes.filter(({ reads }) => reads.from === "form").map(({ name }) => name);
    expect(functionsWith(small, { Environment: { Variables: { MAX_FILE_BYTES: "1234567" } } })).toEqual(reading.sort());
  });

  it("to an unknown path is a 404 without a resource", () => {
    expect(bodyOf("MISSING_AUTHENTICATION_TOKEN")).toEqual(
      errorBody({ code: "not_found", title: "Not Found", detail: "No route matches this method and path." }),
    );
  });
});

describe("the web ACL", () => {
  it("that a stage names blocks with a 403, which no client repeats", () => {
    template.hasResourceProperties("AWS::WAFv2::WebACLAssociation", {
      WebACLArn: "arn:aws:wafv2:us-east-1:111122223333:regional/webacl/1",
    });
    template.resourceCountIs("AWS::WAFv2::WebACL", 0);
    const detail = "A firewall has blocked this request. Do not repeat it unchanged.";
    expect(bodyOf("WAF_FILTERED")).toEqual(
      errorBody({ code: "access_denied.firewall", title: "Access Denied", detail }),
    );
  });

  it("that a stage's limits create returns our 429 to a key or an address that sends more in five minutes", () => {
    const { template: limited } = synthesize("anna");
    const acls = limited.findResources("AWS::WAFv2::WebACL");
    const [id = "", ...others] = Object.keys(acls);
    expect(others).toEqual([]);
    limited.hasResourceProperties("AWS::WAFv2::WebACLAssociation", { WebACLArn: { "Fn::GetAtt": [id, "Arn"] } });
    const block = {
      ResponseCode: 429,
      CustomResponseBodyKey: "rateLimited",
      ResponseHeaders: [
        { Name: "Retry-After", Value: "30" },
        { Name: "Cache-Control", Value: "no-store" },
      ],
    };
    const rule = (rate: object) => ({
      Action: { Block: { CustomResponse: block } },
      Statement: { RateBasedStatement: { EvaluationWindowSec: 300, ...rate } },
    });
    const key = {
      Header: {
        Name: "Authorization",
        TextTransformations: [
          { Priority: 0, Type: "COMPRESS_WHITE_SPACE" },
          { Priority: 1, Type: "LOWERCASE" },
        ],
      },
    };
    expect(acls[id]?.Properties).toMatchObject({
      Scope: "REGIONAL",
      DefaultAction: { Allow: {} },
      CustomResponseBodies: {
        rateLimited: { ContentType: "APPLICATION_JSON", Content: expect.stringContaining('"code":"rate_limited"') },
      },
      Rules: [
        rule({ Limit: 3_000, AggregateKeyType: "CUSTOM_KEYS", CustomKeys: [key] }),
        rule({ Limit: 10, AggregateKeyType: "IP" }),
      ],
    });
  });
});

describe("the API", () => {
  it("has a method for every route, HEAD beside GET with the same function, and no other", () => {
    const methods = Object.values(template.findResources("AWS::ApiGateway::Method"));
    const proxies = methods.flatMap(({ Properties: { HttpMethod, ResourceId, Integration } }) =>
      Integration.Type === "AWS_PROXY" ? [[HttpMethod, ResourceId.Ref, JSON.stringify(Integration)].join(" ")] : [],
    );
    const withHead = routes.flatMap(({ method }) => (method === "GET" ? ["GET", "HEAD"] : [method]));
    expect(proxies.map((each) => each.split(" ")[0]).sort()).toEqual(withHead.sort());
    for (const get of proxies.filter((each) => each.startsWith("GET ")))
      expect(proxies).toContain(get.replace("GET", "HEAD"));
    const parts = new Set(routes.flatMap(({ path }) => path.slice(1).split("/")));
    for (const PathPart of parts) template.hasResourceProperties("AWS::ApiGateway::Resource", { PathPart });
  });

  it("returns 404 for any other method of any path, with any body", () => {
    const resources = Object.keys(template.findResources("AWS::ApiGateway::Resource"));
    const others = Object.values(
      template.findResources("AWS::ApiGateway::Method", { Properties: { HttpMethod: "ANY" } }),
    );
    const places = others.map(({ Properties }) => Properties.ResourceId.Ref ?? "the root");
    expect(places.sort()).toEqual([...resources, "the root"].sort());
    template.hasResourceProperties("AWS::ApiGateway::Resource", { PathPart: "{unknown+}" });
    for (const { Properties } of others)
      expect(Properties.Integration).toMatchObject({
        Type: "MOCK",
        ContentHandling: "CONVERT_TO_TEXT",
        PassthroughBehavior: "NEVER",
        IntegrationResponses: [
          {
            StatusCode: "404",
            ResponseParameters: { "method.response.header.X-Request-Id": "context.requestId" },
            ResponseTemplates: { "application/json": expect.stringContaining('"code":"not_found"') },
          },
        ],
      });
  });

  it("passes every body to its function byte for byte, for any Content-Type", () => {
    template.hasResourceProperties("AWS::ApiGateway::RestApi", { BinaryMediaTypes: ["*/*"] });
  });

  it("accepts only TLS 1.2 and 1.3", () => {
    template.hasResourceProperties("AWS::ApiGateway::RestApi", {
      EndpointConfiguration: { Types: ["REGIONAL"] },
      SecurityPolicy: "SecurityPolicy_TLS13_1_2_PFS_PQ_2025_09",
      EndpointAccessMode: "STRICT",
    });
  });

  it("has tracing and access logs without bodies and headers, with the request id that callers cannot choose", () => {
    template.hasResourceProperties("AWS::ApiGateway::Stage", {
      TracingEnabled: true,
      AccessLogSetting: {
        DestinationArn: Match.anyValue(),
        Format: Match.stringLikeRegexp(
          '^(?!.*(header|authorizer|querystring|identity\\.(apiKey|user))).*"extended_request_id":"\\$context.extendedRequestId"',
        ),
      },
      MethodSettings: [
        Match.objectLike({ HttpMethod: "*", ResourcePath: "/*", LoggingLevel: "ERROR", DataTraceEnabled: false }),
      ],
    });
  });
});

describe("a function", () => {
  it("runs on Node 24 and arm64, with tracing and its own log group", () => {
    const properties = {
      Runtime: "nodejs24.x",
      Architectures: ["arm64"],
      TracingConfig: { Mode: "Active" },
      Environment: { Variables: { TABLE_NAME: Match.anyValue() } },
      // REPORT lines are INFO.
      LoggingConfig: { LogFormat: "JSON", LogGroup: Match.anyValue(), SystemLogLevel: "INFO" },
    };
    expect(functionsWith(template, properties)).toEqual([...functionNames].sort());
  });

  it("of an endpoint times out before the gateway's 29 seconds", () => {
    for (const { name } of routes)
      template.hasResourceProperties("AWS::Lambda::Function", { Description: name, Timeout: 28 });
  });

  it("has the bucket's name only if it uses files", () => {
    const knowing = functionsWith(template, { Environment: { Variables: { BUCKET_NAME: Match.anyValue() } } });
    const using = [...routes, ...steps].filter(({ grants }) => grants.files.length > 0).map(({ name }) => name);
    expect(knowing).toEqual([...using, "sweep-orphan-files"].sort());
  });
});
