import * as apigateway from "aws-cdk-lib/aws-apigateway";
import * as errors from "../../shared/errors.ts";
import { routes } from "../../shared/routes.ts";
import { mapped } from "../../shared/schema/fields.ts";

/**
 * API Gateway's own error responses, in our envelope. No method uses IAM, an authorizer or a gateway API key, so an error
 * about a token or a signature can only mean that no route matches the request. The same is true of an unsupported media type,
 * which only the methods for unknown addresses can return.
 * https://docs.aws.amazon.com/apigateway/latest/developerguide/supported-gateway-response-types.html
 */
const gatewayErrors = (maxFileBytes: number) =>
  ({
    // The response for a function that was throttled, was killed, or returned too much. A throttled one is an INTEGRATION_FAILURE,
    // by reports from the field. AWS does not document it.
    // https://repost.aws/questions/QUL-z6rJbmR4meafB7MzYXxw
    DEFAULT_5XX: errors.serviceUnavailable(),
    MISSING_AUTHENTICATION_TOKEN: errors.notFound(),
    RESOURCE_NOT_FOUND: errors.notFound(),
    INVALID_SIGNATURE: errors.notFound(),
    EXPIRED_TOKEN: errors.notFound(),
    ACCESS_DENIED: errors.notFound(),
    UNSUPPORTED_MEDIA_TYPE: errors.notFound(),
    BAD_REQUEST_PARAMETERS: unreadable,
    // The response for an event above Lambda's limit. Without a validator, a request has no other reason for BAD_REQUEST_BODY. For
    // a body above 10 MB, API Gateway sends plain text, which nothing can change.
    // https://github.com/koki-develop/lgtm-generator/issues/10
    BAD_REQUEST_BODY: errors.fileTooLarge(maxFileBytes),
    REQUEST_TOO_LARGE: errors.fileTooLarge(maxFileBytes),
    THROTTLED: errors.rateLimited(),
    // The status is not 429, because a client would then retry forever.
    WAF_FILTERED: errors.blockedByFirewall(),
    INTEGRATION_TIMEOUT: errors.serviceUnavailable(),
    INTEGRATION_FAILURE: errors.serviceUnavailable(),
    API_CONFIGURATION_ERROR: errors.internalError(),
  }) satisfies Partial<Record<keyof typeof apigateway.ResponseType, errors.ApiError>>;

const unreadable = errors.malformed("can't be read");

/** A response in API Gateway's format. Header values are expressions, in which a literal has single quotes. */
const gatewayResponse = ({ status, headers, body }: errors.ApiError) => ({
  statusCode: String(status),
  responseHeaders: {
    "X-Request-Id": "context.requestId",
    "Cache-Control": "'no-store'",
    ...mapped({ ...errors.deployedHeaders, ...headers }, (value) => `'${value}'`),
  },
  templates: { "application/json": JSON.stringify(body) },
});

export const addGatewayResponses = (api: apigateway.RestApi, maxFileBytes: number): void => {
  const add = (name: string, response: Omit<apigateway.GatewayResponseOptions, "type">) =>
    api.addGatewayResponse(name, { type: apigateway.ResponseType.of(name), ...response });
  for (const [name, error] of Object.entries(gatewayErrors(maxFileBytes))) add(name, gatewayResponse(error));
  // A status here would replace the status of all 4xx responses without a type, such as 400 and 431. Callers send a file that is too
  // large every day, and an unreadable request hardly ever. A template cannot tell them apart.
  const { statusCode: _, ...untyped } = gatewayResponse(errors.tooLargeOrUnreadable(maxFileBytes));
  add("DEFAULT_4XX", untyped);
};

/**
 * Returns 404 for a path or a method that no route has. API Gateway would treat the `Authorization: Bearer` of such a request
 * as a malformed AWS signature and return 403, in a gateway response that has no type.
 */
export const addUnknownAddresses = (rest: apigateway.RestApi): void => {
  const prefixes = routes.flatMap(({ path }) => {
    const parts = path.split("/").slice(1);
    return parts.map((_, index) => `/${parts.slice(0, index + 1).join("/")}`);
  });
  const known = [...new Set(prefixes)].map((path) => rest.root.resourceForPath(path));
  for (const resource of [rest.root, rest.root.addResource("{unknown+}"), ...known]) addNotFound(resource);
};

const addNotFound = (resource: Pick<apigateway.Resource, "addMethod">) => {
  const { statusCode, responseHeaders, templates } = gatewayResponse(errors.notFound());
  const headers = Object.entries(responseHeaders).map(
    ([name, value]) => [`method.response.header.${name}`, value] as const,
  );
  const integration = new apigateway.MockIntegration({
    requestTemplates: { "application/json": JSON.stringify({ statusCode: Number(statusCode) }) },
    // A request with another media type results in a 415, which becomes the same 404.
    passthroughBehavior: apigateway.PassthroughBehavior.NEVER,
    // The template needs text, but every body is binary.
    contentHandling: apigateway.ContentHandling.CONVERT_TO_TEXT,
    integrationResponses: [
      { statusCode, responseParameters: Object.fromEntries(headers), responseTemplates: templates },
    ],
  });
  resource.addMethod("ANY", integration, {
    methodResponses: [{ statusCode, responseParameters: Object.fromEntries(headers.map(([name]) => [name, true])) }],
  });
};
