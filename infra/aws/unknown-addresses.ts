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
 * Returns 404 for a path, or a method of a path, that no route has. API Gateway would take the `Authorization: Bearer` of
 * such a request for a malformed AWS signature and return 403, a gateway response without a type of its own.
 */
export const addUnknownAddresses = (rest: RestApi): void => {
  const prefixes = routes.flatMap(({ path }) => {
    const parts = path.split("/").slice(1);
    return parts.map((_, index) => `/${parts.slice(0, index + 1).join("/")}`);
  });
  const known = [...new Set(prefixes)].map((path) => rest.root.resourceForPath(path));
  for (const resource of [rest.root, rest.root.addResource("{unknown+}"), ...known]) answerNotFound(resource);
};

const answerNotFound = (resource: Pick<Resource, "addMethod">) => {
  const { statusCode, responseHeaders, templates } = gatewayResponse(notFound());
  const headers = Object.entries(responseHeaders).map(
    ([name, value]) => [`method.response.header.${name}`, value] as const,
  );
  const integration = new MockIntegration({
    requestTemplates: { "application/json": JSON.stringify({ statusCode: Number(statusCode) }) },
    // Another media type than the template's is a 415, which this API's gateway response turns into the same 404.
    passthroughBehavior: PassthroughBehavior.NEVER,
    // The template needs text, and every body is binary.
    contentHandling: ContentHandling.CONVERT_TO_TEXT,
    integrationResponses: [
      { statusCode, responseParameters: Object.fromEntries(headers), responseTemplates: templates },
    ],
  });
  resource.addMethod("ANY", integration, {
    methodResponses: [{ statusCode, responseParameters: Object.fromEntries(headers.map(([name]) => [name, true])) }],
  });
};
