import {
  ContentHandling,
  MockIntegration,
  PassthroughBehavior,
  type Resource,
  type RestApi,
} from "aws-cdk-lib/aws-apigateway";
import { notFound } from "../../shared/errors.ts";
import { routes } from "../../shared/routes.ts";
import { gatewayResponse } from "./gateway-responses.ts";

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
    // A request with another media type results in a 415, which gateway-responses.ts turns into the same 404.
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
