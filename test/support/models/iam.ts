import { onTestFinished } from "vitest";
import { interceptTableCalls, type Wanted, wantedBy } from "../fault-proxy/table-proxy.ts";
import { textOfResource } from "./deployed-production.ts";

/** A model of IAM for calls to the table. It has only the conditions that infra/aws/grants.ts uses. */

/** The sentences about the table in the policies of a production role, or in a managed policy. */
const statementsOf = (holder: string) =>
  [...textOfResource(holder).matchAll(/- Allow (dynamodb:.*?) on \$\{Table\.Arn\}(?: where (.*))?$/gm)].map(
    ([, actions = "", conditions = ""]) => {
      const listAfter = (operator: string) =>
        conditions
          .split(" and ")
          .find((each) => each.startsWith(operator))
          ?.slice(operator.length + 1)
          .split(", ");
      return {
        actions,
        partitions: listAfter("ForAllValues:StringLike dynamodb:LeadingKeys"),
        attributes: listAfter("ForAllValues:StringEquals dynamodb:Attributes"),
      };
    },
  );

/** Until the test ends, allows only calls to the table that this role or managed policy permits. */
export const allowOnly = (holder: string) => {
  const statements = statementsOf(holder);
  const isAllowed = ({ action, pk, attributes }: Wanted) =>
    statements.some(
      (statement) =>
        statement.actions.split(", ").includes(`dynamodb:${action}`) &&
        (statement.partitions ?? ["*"]).some((pattern) =>
          pattern.endsWith("*") ? pk.startsWith(pattern.slice(0, -1)) : pk === pattern,
        ) &&
        attributes.every((name) => statement.attributes?.includes(name) ?? true),
    );
  const stop = interceptTableCalls(async (call, pass) => {
    const refused = wantedBy(call).find((wanted) => !isAllowed(wanted));
    if (!refused) return pass();
    const message = `${holder} is not authorized to perform dynamodb:${refused.action} on ${refused.pk}`;
    throw Object.assign(new Error(message), { name: "AccessDeniedException", $metadata: { httpStatusCode: 400 } });
  });
  onTestFinished(() => void stop());
  return stop;
};
