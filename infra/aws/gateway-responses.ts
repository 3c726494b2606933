import { ResponseType, type RestApi } from "aws-cdk-lib/aws-apigateway";
import {
  type ApiError,
  fileTooLarge,
  internalError,
  malformed,
  notFound,
  rateLimited,
  serviceUnavailable,
  unauthorized,
} from "../../shared/errors.ts";

/**
 * The responses that API Gateway gives by itself, in our envelope. No method asks for IAM, an authorizer or an API key, so
 * a complaint about a token or a signature means one thing: no route has this address. So does an unsupported media
 * type, which only the methods of unknown addresses can raise: see unknown-addresses.ts.
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
  // The rules of a web ACL that belong before this API are rates: see infra/README.md.
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

/** Puts every response of the gateway's own into our envelope. */
export const addGatewayResponses = (api: RestApi, maxFileBytes: number): void => {
  for (const [type, error] of gatewayErrors(maxFileBytes))
    api.addGatewayResponse(type.responseType, { type, ...gatewayResponse(error) });
  // A status here would replace that of every 4xx without a type, such as 400 and 431: each keeps its own.
  const { statusCode: _, ...untyped } = gatewayResponse(malformed("can't be read"));
  api.addGatewayResponse("DEFAULT_4XX", { type: ResponseType.DEFAULT_4XX, ...untyped });
};
