import { Duration, RemovalPolicy } from "aws-cdk-lib";
import {
  AccessLogField,
  AccessLogFormat,
  CfnRestApi,
  EndpointType,
  LambdaIntegration,
  LogGroupLogDestination,
  MethodLoggingLevel,
  RestApi,
  SecurityPolicy,
} from "aws-cdk-lib/aws-apigateway";
import { LogGroup } from "aws-cdk-lib/aws-logs";
import { CfnWebACLAssociation } from "aws-cdk-lib/aws-wafv2";
import type { Construct } from "constructs";
import { routes } from "../../shared/routes.ts";
import { accept } from "./accept.ts";
import { functionOf, type Surroundings } from "./function.ts";
import { addGatewayResponses } from "./gateway-responses.ts";
import type { Settings } from "./settings.ts";
import { addUnknownAddresses } from "./unknown-addresses.ts";

/** A function ends before the gateway stops waiting, after 29 seconds, so that its own error reaches the caller. */
const timeout = Duration.seconds(28);

/** The REST API: every row of the route table, its function and its method. */
export const api = (scope: Construct, surroundings: Surroundings): RestApi => {
  const { settings } = surroundings;
  const rest = restApi(scope, settings);
  addGatewayResponses(rest, settings.maxFileBytes);
  for (const route of routes) {
    const environment = {
      ...(route.reads.from === "form" && { MAX_FILE_BYTES: String(settings.maxFileBytes) }),
      ...(route.document === "upload" && { MAX_UPLOAD_BYTES: String(settings.maxUploadBytes) }),
    };
    const handler = functionOf(scope, surroundings, { ...route, timeout, environment });
    const integration = new LambdaIntegration(handler, { allowTestInvoke: false });
    rest.root.resourceForPath(route.path).addMethod(route.method, integration);
  }
  addUnknownAddresses(rest);
  return rest;
};

const restApi = (scope: Construct, settings: Settings) => {
  const accessLogs = new LogGroup(scope, "ApiAccessLogs", {
    retention: settings.logRetention,
    removalPolicy: settings.removalPolicy,
  });
  const rest = new RestApi(scope, "Api", {
    restApiName: settings.stackName,
    description: "Patchbay: attachments of number orders, and messaging switches",
    endpointTypes: [EndpointType.REGIONAL],
    // Every body arrives as base64, byte for byte. A single type would depend on how the gateway compares it with a
    // Content-Type's case and parameters, which its documentation does not say. A form taken for text would be damaged.
    // https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-payload-encodings.html
    binaryMediaTypes: ["*/*"],
    ...logsRole(settings),
    deployOptions: {
      stageName: "live",
      tracingEnabled: true,
      throttlingRateLimit: settings.throttleRate,
      throttlingBurstLimit: settings.throttleBurst,
      loggingLevel: MethodLoggingLevel.ERROR,
      // Bodies and headers contain secrets, so they are not logged.
      dataTraceEnabled: false,
      accessLogDestination: new LogGroupLogDestination(accessLogs),
      accessLogFormat: accessLogFormat(),
    },
  });
  // The stack's outputs have it, without its slash.
  rest.node.tryRemoveChild("Endpoint");
  requireTls12(rest);
  addExecutionLogs(scope, settings, rest);
  if (settings.webAclArn)
    new CfnWebACLAssociation(scope, "WebAcl", {
      resourceArn: rest.deploymentStage.stageArn,
      webAclArn: settings.webAclArn,
    });
  acceptFindings(rest, settings);
  return rest;
};

/** The region's role is retained when its stack is deleted, because other stacks' logs depend on it. */
const logsRole = ({ apiLogsRole }: Settings) =>
  apiLogsRole === "own"
    ? { cloudWatchRole: true, cloudWatchRoleRemovalPolicy: RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE }
    : { cloudWatchRole: false };

/**
 * A Regional API accepts TLS 1.0 unless its policy says otherwise. This one accepts TLS 1.2 and 1.3, with forward secrecy.
 * https://docs.aws.amazon.com/apigateway/latest/developerguide/apigateway-security-policies-list.html
 */
const requireTls12 = (rest: RestApi) => {
  const resource = rest.node.defaultChild;
  if (!(resource instanceof CfnRestApi)) throw new Error("CDK no longer makes a RestApi of a CfnRestApi.");
  resource.securityPolicy = SecurityPolicy.TLS13_1_2_PFS_PQ_2025_09;
  // Required with these policies. STRICT: the TLS server name must be the host that the request names.
  resource.endpointAccessMode = "STRICT";
};

const acceptFindings = (rest: RestApi, { webAclArn }: Settings) =>
  accept(rest, {
    "AwsSolutions-APIG2":
      "Every function checks its input against the schema of its route and returns all faults at once. A validator of the gateway would return the first only, in another form.",
    "AwsSolutions-APIG4":
      "Every function requires a Bearer API key of 256 random bits before anything else. The order of the responses (401, 404, 403) depends on the table, which an authorizer would read a second time.",
    "AwsSolutions-COG4": "Callers are machines with API keys, not people with a user pool.",
    "AwsSolutions-IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/service-role/AmazonAPIGatewayPushToCloudWatchLogs]":
      "The region's one role by which API Gateway writes logs: this managed policy is what its documentation asks for.",
    ...(!webAclArn && {
      "AwsSolutions-APIG3":
        "The web ACL is the organisation's, which pays and watches it for all its APIs: name it with -c webAclArn=<arn>. The stage is throttled with and without.",
    }),
  });

/** API Gateway would create this group itself, under this name, without retention, and leave it behind. */
const addExecutionLogs = (scope: Construct, { logRetention, removalPolicy }: Settings, rest: RestApi) => {
  const logs = new LogGroup(scope, "ApiExecutionLogs", {
    logGroupName: `API-Gateway-Execution-Logs_${rest.restApiId}/live`,
    retention: logRetention,
    removalPolicy,
  });
  rest.deploymentStage.node.addDependency(logs);
};

/** The request and the response, without headers and query. Callers can choose `request_id`, but not the extended one. */
const accessLogFormat = () =>
  AccessLogFormat.custom(
    JSON.stringify({
      request_id: AccessLogField.contextRequestId(),
      extended_request_id: AccessLogField.contextExtendedRequestId(),
      time: AccessLogField.contextRequestTimeEpoch(),
      ip: AccessLogField.contextIdentitySourceIp(),
      method: AccessLogField.contextHttpMethod(),
      resource: AccessLogField.contextResourcePath(),
      status: AccessLogField.contextStatus(),
      bytes: AccessLogField.contextResponseLength(),
      ms: AccessLogField.contextResponseLatency(),
      integration_ms: AccessLogField.contextIntegrationLatency(),
      error_type: AccessLogField.contextErrorResponseType(),
      trace: AccessLogField.contextXrayTraceId(),
    }),
  );
