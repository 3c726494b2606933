import { onTestFinished } from "vitest";
import { interceptTableCalls, type Wanted, wantedBy } from "../fault-proxy/table-proxy.ts";
import { textOfResource } from "./deployed-production.ts";

/** A model of IAM for calls to the table. It has only the conditions that infra/aws/grants.ts uses. */

const sentence = /- (Allow|Deny) (dynamodb:.*?) on \$\{Table\.Arn\}(?: where (.*))?$/gm;

/** The statements about the table in the policies of a production role, or in a managed policy. */
const statementsOf = (holder: string) =>
  [...textOfResource(holder).matchAll(sentence)].map(([, effect, actions = "", conditions = ""]) => {
    const listAfter = (operator: string) =>
      conditions
        .split(" and ")
        .find((each) => each.startsWith(operator))
        ?.slice(operator.length + 1)
        .split(", ");
    const quantifier = effect === "Allow" ? "ForAllValues" : "ForAnyValue";
    return {
      effect,
      actions: actions.split(", "),
      partitions: listAfter(`${quantifier}:StringLike dynamodb:LeadingKeys`) ?? ["*"],
    };
  });

/**
 * Returns a function that finds what a production role, or a managed policy, refuses of what a call wants. Whether a denial sees the
 * partition of one write or those of the whole transaction is not documented, so each action is tested with each partition.
 */
export const refusalsOf = (holder: string) => {
  const statements = statementsOf(holder);
  const matches = ({ action, pk }: Wanted, wantedEffect: string) =>
    statements.some(
      ({ effect, actions, partitions }) =>
        effect === wantedEffect &&
        actions.includes(`dynamodb:${action}`) &&
        partitions.some((each) => (each.endsWith("*") ? pk.startsWith(each.slice(0, -1)) : pk === each)),
    );
  return (call: readonly Wanted[]): Wanted[] =>
    call.filter((one) => !matches(one, "Allow") || call.some(({ pk }) => matches({ ...one, pk }, "Deny")));
};

/** Until the test ends, allows only calls to the table that this role or managed policy permits. */
export const allowOnly = (holder: string) => {
  const refusals = refusalsOf(holder);
  const stop = interceptTableCalls(async (call, pass) => {
    const [refused] = refusals(wantedBy(call));
    if (!refused) return pass();
    const message = `${holder} is not authorized to perform dynamodb:${refused.action} on ${refused.pk}`;
    throw Object.assign(new Error(message), { name: "AccessDeniedException", $metadata: { httpStatusCode: 400 } });
  });
  onTestFinished(() => void stop());
  return stop;
};
