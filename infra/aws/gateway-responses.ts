import { ResponseType, type RestApi } from "aws-cdk-lib/aws-apigateway";
import {
  type ApiError,
  internalError,
  malformed,
  notFound,
  payloadTooLarge,
  rateLimited,
  serviceUnavailable,
  unauthorized,
  unsupportedMediaType,
} from "../../shared/errors.ts";
import { limits } from "../../shared/limits.ts";

/**
 * What API Gateway answers by itself, as our catalogue says it. No method asks for IAM, an authorizer or an API key, so
 * a complaint about a signature or a token means one thing: the address is not one of ours. (API Gateway takes the
 * `Authorization: Bearer` of a request to an unknown address for a broken AWS signature; that complaint has no type of
 * its own and comes under DEFAULT_4XX.) https://docs.aws.amazon.com/apigateway/latest/developerguide/supported-gateway-response-types.html
 */
export const gatewayErrors: readonly (readonly [ResponseType, ApiError])[] = [
  [ResponseType.DEFAULT_4XX, notFound()],
  [ResponseType.DEFAULT_5XX, internalError()],
  [ResponseType.MISSING_AUTHENTICATION_TOKEN, notFound()],
  [ResponseType.RESOURCE_NOT_FOUND, notFound()],
  [ResponseType.INVALID_SIGNATURE, notFound()],
  [ResponseType.EXPIRED_TOKEN, notFound()],
  [ResponseType.ACCESS_DENIED, notFound()],
  [ResponseType.UNAUTHORIZED, unauthorized()],
  [ResponseType.INVALID_API_KEY, unauthorized()],
  [ResponseType.BAD_REQUEST_BODY, malformed("can't be read")],
  [ResponseType.BAD_REQUEST_PARAMETERS, malformed("can't be read")],
  [ResponseType.REQUEST_TOO_LARGE, payloadTooLarge(limits.fileBytes)],
  [ResponseType.UNSUPPORTED_MEDIA_TYPE, unsupportedMediaType("application/json")],
  [ResponseType.THROTTLED, rateLimited()],
  [ResponseType.QUOTA_EXCEEDED, rateLimited()],
  // The rules of a web ACL that belong before this API are rates: see the README.
  [ResponseType.WAF_FILTERED, rateLimited()],
  [ResponseType.INTEGRATION_TIMEOUT, serviceUnavailable()],
  [ResponseType.INTEGRATION_FAILURE, serviceUnavailable()],
  [ResponseType.API_CONFIGURATION_ERROR, internalError()],
  [ResponseType.AUTHORIZER_CONFIGURATION_ERROR, internalError()],
  [ResponseType.AUTHORIZER_FAILURE, internalError()],
];

/** A gateway response as API Gateway takes it: values of headers are expressions, texts in single quotes. */
export const gatewayResponse = ({ status, headers, body }: ApiError) => ({
  statusCode: String(status),
  responseHeaders: {
    "X-Request-Id": "context.requestId",
    "Cache-Control": "'no-store'",
    ...Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, `'${value}'`])),
  },
  templates: { "application/json": JSON.stringify(body) },
});

/** Puts every answer of the gateway's own into our envelope. */
export const addGatewayResponses = (api: RestApi): void => {
  for (const [type, error] of gatewayErrors)
    api.addGatewayResponse(type.responseType, { type, ...gatewayResponse(error) });
};
