import { Duration, Names, RemovalPolicy } from "aws-cdk-lib";
import * as apigateway from "aws-cdk-lib/aws-apigateway";
import { Certificate } from "aws-cdk-lib/aws-certificatemanager";
import { LogGroup, QueryDefinition, QueryString } from "aws-cdk-lib/aws-logs";
import { CfnSamplingRule } from "aws-cdk-lib/aws-xray";
import type { Construct } from "constructs";
import { routes } from "../../shared/routes.ts";
import { acknowledge } from "./acknowledge.ts";
import { addFirewall, hasFirewall } from "./firewall.ts";
import { createFunction, type Deployment } from "./function.ts";
import { addGatewayResponses, addUnknownAddresses } from "./gateway-responses.ts";
import type { Settings } from "./settings.ts";

/** API Gateway stops waiting after 29 seconds. A function that times out earlier leaves time for its error response. */
const timeout = Duration.seconds(28);

/** Creates the REST API, with a function and a method for each row of the route table. HEAD is GET without the body. */
export const createApi = (scope: Construct, deployment: Deployment) => {
  const { settings } = deployment;
  const rest = restApi(scope, settings);
  addGatewayResponses(rest, settings.maxFileBytes);
  const endpoints = routes.map((route) => {
    const environment = {
      ...(route.reads.from === "form" && { MAX_FILE_BYTES: String(settings.maxFileBytes) }),
      ...(route.document === "upload" && { MAX_UPLOAD_BYTES: String(settings.maxUploadBytes) }),
    };
    // Every endpoint reads the caller and the resources in the path.
    const grants = { ...route.grants, table: ["GetItem", ...route.grants.table] } as const;
    const uses = route.resource === "switch" ? (["accounts", "switches"] as const) : [];
    const handler = createFunction(scope, deployment, { ...route, grants, uses, timeout, environment });
    const integration = new apigateway.LambdaIntegration(handler, { allowTestInvoke: false });
    const resource = rest.root.resourceForPath(route.path);
    resource.addMethod(route.method, integration);
    if (route.method === "GET") resource.addMethod("HEAD", integration);
    return handler;
  });
  addUnknownAddresses(rest);
  // Not every emulator supports saved queries.
  if (!settings.emulator) saveQuery(scope, deployment);
  return { rest, endpoints };
};

/** Saves a query of CloudWatch Logs Insights for infra/runbook.md, "A leaked API key". */
const saveQuery = (scope: Construct, { settings: { stackName }, logGroup }: Deployment) => {
  const parameters = [
    ...new Set(routes.flatMap(({ path }) => [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name))),
  ];
  new QueryDefinition(scope, "KeyActivity", {
    queryDefinitionName: `${stackName}/what an API key did`,
    logGroups: [logGroup],
    queryString: new QueryString({
      fields: [
        "@timestamp",
        "status",
        "route",
        ...parameters.map((name) => `path.${name}`),
        "created_id",
        "bytes",
        "owner_account_id",
        "request_id",
        "extended_request_id",
      ],
      filterStatements: ['key_id = "<the id of the API key>"'],
      sort: "@timestamp asc",
      limit: 10_000,
    }),
  });
};

const restApi = (scope: Construct, settings: Settings) => {
  const rest = new apigateway.RestApi(scope, "Api", {
    restApiName: settings.stackName,
    description: "Patchbay: attachments of number orders, and messaging switches",
    endpointTypes: [apigateway.EndpointType.REGIONAL],
    // Every body arrives as base64, byte for byte. A list of types would not suffice, because it is not documented how the
    // gateway compares them with a Content-Type's case and parameters. A form that is treated as text is corrupted.
    // https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-payload-encodings.html
    binaryMediaTypes: ["*/*"],
    // The role is always retained, even if the creation of the stack fails, because the logs of the region's other APIs depend on it.
    cloudWatchRole: settings.apiLogsRole === "own",
    ...(settings.apiLogsRole === "own" && { cloudWatchRoleRemovalPolicy: RemovalPolicy.RETAIN }),
    ...domain(scope, settings),
    deployOptions: {
      stageName: "live",
      tracingEnabled: settings.tracing,
      throttlingRateLimit: settings.throttleRate,
      throttlingBurstLimit: settings.throttleBurst,
      loggingLevel: apigateway.MethodLoggingLevel.ERROR,
      // Bodies and headers contain secrets, so they are not logged.
      dataTraceEnabled: false,
      ...(settings.accessLogs && {
        accessLogDestination: new apigateway.LogGroupLogDestination(
          new LogGroup(scope, "ApiAccessLogs", settings.logs),
        ),
        accessLogFormat: apigateway.AccessLogFormat.custom(JSON.stringify(accessLogFormat)),
      }),
    },
  });
  // The stack's own output, which has no trailing slash, replaces it.
  rest.node.tryRemoveChild("Endpoint");
  const resource = rest.node.defaultChild;
  if (!(resource instanceof apigateway.CfnRestApi))
    throw new Error("CDK no longer creates a CfnRestApi for a RestApi.");
  Object.assign(resource, tls);
  // Otherwise, API Gateway would create this group itself, without retention, and it would outlive the stack.
  const logGroupName = `API-Gateway-Execution-Logs_${rest.restApiId}/live`;
  const logs = new LogGroup(scope, "ApiExecutionLogs", { logGroupName, ...settings.logs });
  rest.deploymentStage.node.addDependency(logs);
  // Not every emulator supports sampling rules.
  if (settings.tracing && !settings.emulator) addSampling(scope, settings);
  addFirewall(scope, settings, rest.deploymentStage);
  acknowledgeFindings(rest, settings);
  return rest;
};

/** Traces 5 % of the requests. X-Ray's default rule adds one of every second, which for a small API is a quarter of all. */
const addSampling = (scope: Construct, { stackName }: Settings) =>
  new CfnSamplingRule(scope, "Traces", {
    samplingRule: {
      ruleName: Names.uniqueResourceName(scope, { maxLength: 32 }),
      serviceName: `${stackName}/live`,
      serviceType: "*",
      host: "*",
      httpMethod: "*",
      urlPath: "*",
      resourceArn: "*",
      priority: 1_000,
      reservoirSize: 0,
      fixedRate: 0.05,
      version: 1,
    },
  });

/** The API's custom domain name, which stays the same if the stack is created again. */
const domain = (scope: Construct, { domainName, certificateArn }: Settings) => {
  if (!domainName || !certificateArn) return {};
  const certificate = Certificate.fromCertificateArn(scope, "Certificate", certificateArn);
  return { domainName: { domainName, certificate, ...tls } };
};

/**
 * A Regional API accepts TLS 1.0 unless its security policy excludes it. This policy accepts TLS 1.2 and 1.3, with forward secrecy.
 * https://docs.aws.amazon.com/apigateway/latest/developerguide/apigateway-security-policies-list.html
 */
const tls = {
  securityPolicy: apigateway.SecurityPolicy.TLS13_1_2_PFS_PQ_2025_09,
  // These policies require it. With STRICT, the TLS server name must match the request's host.
  endpointAccessMode: apigateway.EndpointAccessMode.STRICT,
};

const acknowledgeFindings = (rest: apigateway.RestApi, settings: Settings) =>
  acknowledge(rest, {
    "AwsSolutions-APIG2":
      "Every function validates its input against the schema of its route and returns all errors. The gateway's validator returns only the first one, in another format.",
    "AwsSolutions-APIG4":
      "Every function first requires a Bearer API key of 256 random bits. Whether the response is 401, 404 or 403 depends on items in the table, which an authorizer would have to read a second time.",
    "AwsSolutions-COG4": "Callers are programs with API keys, not people in a user pool.",
    "AwsSolutions-IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/service-role/AmazonAPIGatewayPushToCloudWatchLogs]":
      "API Gateway writes its logs with this role, one for the region. Its documentation requires this managed policy.",
    ...(!settings.accessLogs && {
      "AwsSolutions-APIG1":
        "The stage turns access logs off to save their cost. Each function logs a line for each request, and the gateway logs its own errors.",
    }),
    ...(!hasFirewall(settings) && {
      "AwsSolutions-APIG3":
        "The organization manages one web ACL for all its APIs: set webAclArn, or limits of this API's own, in the stage's file. The API is throttled in either case.",
    }),
  });

/**
 * Contains no headers and no query. Callers can set `request_id`, but not `extended_request_id`.
 * https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-variables-for-access-logging.html
 */
const accessLogFormat = {
  request_id: "$context.requestId",
  extended_request_id: "$context.extendedRequestId",
  time: "$context.requestTimeEpoch",
  ip: "$context.identity.sourceIp",
  method: "$context.httpMethod",
  resource: "$context.resourcePath",
  status: "$context.status",
  bytes: "$context.responseLength",
  ms: "$context.responseLatency",
  integration_ms: "$context.integrationLatency",
  // This is Lambda's status, and not the function's. It is 429 for a function that was throttled.
  integration_status: "$context.integration.integrationStatus",
  error_type: "$context.error.responseType",
  trace: "$context.xrayTraceId",
};
