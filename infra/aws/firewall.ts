import type { Stage } from "aws-cdk-lib/aws-apigateway";
import { CfnWebACL, CfnWebACLAssociation } from "aws-cdk-lib/aws-wafv2";
import type { Construct } from "constructs";
import { deployedHeaders, rateLimited } from "../../shared/errors.ts";
import type { Settings } from "./settings.ts";

export const hasFirewall = ({ webAclArn, requestsPerKey, requestsPerAddress, requestsInTotal }: Settings): boolean =>
  Boolean(webAclArn ?? requestsPerKey ?? requestsPerAddress ?? requestsInTotal);

/** Associates the stage's web ACL with the API, or creates one that limits requests per key, address and in total in five minutes. */
export const addFirewall = (scope: Construct, settings: Settings, { stageArn: resourceArn }: Stage): void => {
  if (!hasFirewall(settings)) return;
  const webAclArn = settings.webAclArn ?? rateLimits(scope, settings).attrArn;
  new CfnWebACLAssociation(scope, "WebAcl", { resourceArn, webAclArn });
};

const rateLimits = (scope: Construct, { stackName, ...settings }: Settings) => {
  const measured = (name: string) => ({
    cloudWatchMetricsEnabled: true,
    sampledRequestsEnabled: false,
    metricName: `${stackName}-${name}`,
  });
  const limits = [
    ["requestsPerKey", settings.requestsPerKey, byKey],
    ["requestsPerAddress", settings.requestsPerAddress, { aggregateKeyType: "IP" }],
    ["requestsInTotal", settings.requestsInTotal, together],
  ] as const;
  // How long a limited caller should wait. WAF updates its counts every few seconds.
  const headers = { "Retry-After": "30", "Cache-Control": "no-store", ...deployedHeaders };
  const customResponse = {
    responseCode: 429,
    customResponseBodyKey: "rateLimited",
    responseHeaders: Object.entries(headers).map(([name, value]) => ({ name, value })),
  };
  return new CfnWebACL(scope, "RateLimits", {
    scope: "REGIONAL",
    description: "Patchbay: limits what a key, an address or all callers send in five minutes",
    defaultAction: { allow: {} },
    visibilityConfig: measured("firewall"),
    // WAF returns this response itself, so API Gateway's WAF_FILTERED is not used.
    customResponseBodies: {
      rateLimited: { contentType: "APPLICATION_JSON", content: JSON.stringify(rateLimited().body) },
    },
    rules: limits.flatMap(([name, limit, aggregation], priority) =>
      limit === null
        ? []
        : {
            name,
            priority,
            statement: { rateBasedStatement: { limit, evaluationWindowSec: 300, ...aggregation } },
            action: { block: { customResponse } },
            visibilityConfig: measured(name),
          },
    ),
  });
};

const textTransformations = ["COMPRESS_WHITE_SPACE", "LOWERCASE"].map((type, priority) => ({ priority, type }));

/**
 * Requests are counted by the header, regardless of its case and spaces. A request without the header does not count, and returns
 * 401.
 */
const byKey = {
  aggregateKeyType: "CUSTOM_KEYS",
  customKeys: [{ header: { name: "Authorization", textTransformations } }],
};

/**
 * API Gateway's own limit applies to each method. To count all requests, WAF requires a scope-down statement, and this one matches
 * all.
 */
const together = {
  aggregateKeyType: "CONSTANT",
  scopeDownStatement: {
    byteMatchStatement: {
      fieldToMatch: { uriPath: {} },
      positionalConstraint: "STARTS_WITH",
      searchString: "/",
      textTransformations: [{ priority: 0, type: "NONE" }],
    },
  },
};
