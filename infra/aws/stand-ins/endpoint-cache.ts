/**
 * Stands in for `@aws-sdk/endpoint-cache`, which the DynamoDB client makes for endpoint discovery: a feature that is off
 * unless AWS_ENABLE_ENDPOINT_DISCOVERY turns it on, and is not for tables in a region.
 */
export class EndpointCache {
  has(): never {
    throw new Error("The bundles know no endpoint discovery: see infra/aws/stand-ins.");
  }
}
