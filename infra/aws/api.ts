import { Duration } from "aws-cdk-lib";
import {
  AccessLogField,
  AccessLogFormat,
  EndpointType,
  LambdaIntegration,
  LogGroupLogDestination,
  MethodLoggingLevel,
  RestApi,
} from "aws-cdk-lib/aws-apigateway";
import { LogGroup } from "aws-cdk-lib/aws-logs";
import { CfnWebACLAssociation } from "aws-cdk-lib/aws-wafv2";
import type { Construct } from "constructs";
import { routes } from "../../shared/routes.ts";
import { accept } from "./accept.ts";
import { functionOf, type Surroundings } from "./function.ts";
import { addGatewayResponses } from "./gateway-responses.ts";
import type { Settings } from "./settings.ts";

/** The REST API: every row of the route table, its function and its method. */
export const api = (scope: Construct, surroundings: Surroundings): RestApi => {
  const rest = restApi(scope, surroundings.settings);
  addGatewayResponses(rest);
  for (const route of routes) {
    // The gateway waits for 29 seconds at most.
    const handler = functionOf(scope, surroundings, { ...route, timeout: Duration.seconds(29) });
    const integration = new LambdaIntegration(handler, { allowTestInvoke: false });
    rest.root.resourceForPath(route.path).addMethod(route.method, integration);
  }
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
    // Anything else is text: a multipart body arrives at its function byte for byte, as base64.
    binaryMediaTypes: ["multipart/form-data"],
    ...(settings.apiLogsRole === "own"
      ? { cloudWatchRole: true, cloudWatchRoleRemovalPolicy: settings.removalPolicy }
      : { cloudWatchRole: false }),
    deployOptions: {
      stageName: "live",
      tracingEnabled: true,
      throttlingRateLimit: settings.throttle.rate,
      throttlingBurstLimit: settings.throttle.burst,
      loggingLevel: MethodLoggingLevel.ERROR,
      // Bodies and headers hold secrets: they are in no log.
      dataTraceEnabled: false,
      accessLogDestination: new LogGroupLogDestination(accessLogs),
      accessLogFormat: accessLogFormat(),
    },
  });
  // Said once, without its slash: see the stack's outputs.
  rest.node.tryRemoveChild("Endpoint");
  addExecutionLogs(scope, settings, rest);
  if (settings.webAclArn)
    new CfnWebACLAssociation(scope, "WebAcl", {
      resourceArn: rest.deploymentStage.stageArn,
      webAclArn: settings.webAclArn,
    });
  accept(rest, {
    "AwsSolutions-APIG2":
      "Every function checks its whole input against the schema of its route and answers all faults at once; a validator of the gateway's would refuse with the first, in other words.",
    "AwsSolutions-APIG4":
      "Every function demands a Bearer API key of 256 random bits before anything else; the order of the answers (401, 404, 403) needs the table, which an authorizer would read a second time.",
    "AwsSolutions-COG4": "Callers are machines with API keys, not people with a user pool.",
    "AwsSolutions-IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/service-role/AmazonAPIGatewayPushToCloudWatchLogs]":
      "The region's one role by which API Gateway writes logs: this managed policy is what its documentation asks for.",
    ...(!settings.webAclArn && {
      "AwsSolutions-APIG3":
        "The web ACL is the organisation's, which pays and watches it for all its APIs: name it with -c webAclArn=<arn>. The stage is throttled with and without.",
    }),
  });
  return rest;
};

/** API Gateway would make this group by itself, under this name, kept for ever and left behind by a stack that is removed. */
const addExecutionLogs = (scope: Construct, { logRetention, removalPolicy }: Settings, rest: RestApi) => {
  const logs = new LogGroup(scope, "ApiExecutionLogs", {
    logGroupName: `API-Gateway-Execution-Logs_${rest.restApiId}/live`,
    retention: logRetention,
    removalPolicy,
  });
  rest.deploymentStage.node.addDependency(logs);
};

/** Who asked for what, and what was answered; never a header or a query. */
const accessLogFormat = () =>
  AccessLogFormat.custom(
    JSON.stringify({
      request_id: AccessLogField.contextRequestId(),
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
