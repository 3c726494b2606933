import {
  ContentHandling,
  MockIntegration,
  PassthroughBehavior,
  type Resource,
  ResponseType,
  type RestApi,
} from "aws-cdk-lib/aws-apigateway";
import {
  type ApiError,
  blockedByFirewall,
  fileTooLarge,
  internalError,
  malformed,
  notFound,
  rateLimited,
  serviceUnavailable,
  unauthorized,
} from "../../shared/errors.ts";
import { routes } from "../../shared/routes.ts";

/**
 * API Gateway's own error responses, in our envelope. No method uses IAM, an authorizer or a gateway API key, so an error
 * about a token or a signature can only mean that no route matches the request. The same is true of an unsupported media type,
 * which only the methods for unknown addresses can return.
 * https://docs.aws.amazon.com/apigateway/latest/developerguide/supported-gateway-response-types.html
 */
const gatewayErrors = (maxFileBytes: number): readonly (readonly [ResponseType, ApiError])[] => [
  [ResponseType.DEFAULT_5XX, internalError()],
  [ResponseType.MISSING_AUTHENTICATION_TOKEN, notFound()],
  [ResponseType.RESOURCE_NOT_FOUND, notFound()],
  [ResponseType.INVALID_SIGNATURE, notFound()],
  [ResponseType.EXPIRED_TOKEN, notFound()],
  [ResponseType.ACCESS_DENIED, notFound()],
  [ResponseType.UNSUPPORTED_MEDIA_TYPE, notFound()],
  [ResponseType.UNAUTHORIZED, unauthorized()],
  [ResponseType.INVALID_API_KEY, unauthorized()],
  [ResponseType.BAD_REQUEST_BODY, malformed("can't be read")],
  [ResponseType.BAD_REQUEST_PARAMETERS, malformed("can't be read")],
  [ResponseType.REQUEST_TOO_LARGE, fileTooLarge(maxFileBytes)],
  [ResponseType.THROTTLED, rateLimited()],
  [ResponseType.QUOTA_EXCEEDED, rateLimited()],
  // Not a 429, which a client would repeat for ever.
  [ResponseType.WAF_FILTERED, blockedByFirewall()],
  [ResponseType.INTEGRATION_TIMEOUT, serviceUnavailable()],
  [ResponseType.INTEGRATION_FAILURE, serviceUnavailable()],
  [ResponseType.API_CONFIGURATION_ERROR, internalError()],
  [ResponseType.AUTHORIZER_CONFIGURATION_ERROR, internalError()],
  [ResponseType.AUTHORIZER_FAILURE, internalError()],
];

/** A response in API Gateway's format. Header values are expressions; a literal has single quotes. */
const gatewayResponse = ({ status, headers, body }: ApiError) => ({
  statusCode: String(status),
  responseHeaders: {
    "X-Request-Id": "context.requestId",
    "Cache-Control": "'no-store'",
    ...Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, `'${value}'`])),
  },
  templates: { "application/json": JSON.stringify(body) },
});

export const addGatewayResponses = (api: RestApi, maxFileBytes: number): void => {
  for (const [type, error] of gatewayErrors(maxFileBytes))
    api.addGatewayResponse(type.responseType, { type, ...gatewayResponse(error) });
  // A status here would replace the status of all 4xx responses without a type, such as 400 and 431.
  const { statusCode: _, ...untyped } = gatewayResponse(malformed("can't be read"));
  api.addGatewayResponse("DEFAULT_4XX", { type: ResponseType.DEFAULT_4XX, ...untyped });
};

/**
 * Returns 404 for a path or a method that no route has. API Gateway would treat the `Authorization: Bearer` of such a request
 * as a malformed AWS signature and return 403, in a gateway response that has no type.
 */
export const addUnknownAddresses = (rest: RestApi): void => {
  const prefixes = routes.flatMap(({ path }) => {
    const parts = path.split("/").slice(1);
    return parts.map((_, index) => `/${parts.slice(0, index + 1).join("/")}`);
  });
  const known = [...new Set(prefixes)].map((path) => rest.root.resourceForPath(path));
  for (const resource of [rest.root, rest.root.addResource("{unknown+}"), ...known]) addNotFound(resource);
};

const addNotFound = (resource: Pick<Resource, "addMethod">) => {
  const { statusCode, responseHeaders, templates } = gatewayResponse(notFound());
  const headers = Object.entries(responseHeaders).map(
    ([name, value]) => [`method.response.header.${name}`, value] as const,
  );
  const integration = new MockIntegration({
    requestTemplates: { "application/json": JSON.stringify({ statusCode: Number(statusCode) }) },
    // A request with another media type results in a 415, which becomes the same 404.
    passthroughBehavior: PassthroughBehavior.NEVER,
    // The template needs text, but every body is binary.
    contentHandling: ContentHandling.CONVERT_TO_TEXT,
    integrationResponses: [
      { statusCode, responseParameters: Object.fromEntries(headers), responseTemplates: templates },
    ],
  });
  resource.addMethod("ANY", integration, {
    methodResponses: [{ statusCode, responseParameters: Object.fromEntries(headers.map(([name]) => [name, true])) }],
  });
};
