/**
 * Replaces `@aws-sdk/middleware-endpoint-discovery`. DynamoDB's client creates a cache of endpoints, which none of its commands uses. A
 * bundle becomes 8.5 KB smaller.
 */
export const NODE_ENDPOINT_DISCOVERY_CONFIG_OPTIONS = {
  environmentVariableSelector: () => undefined,
  configFileSelector: () => undefined,
  default: undefined,
};

export const resolveEndpointDiscoveryConfig = <Config>(config: Config): Config => config;
