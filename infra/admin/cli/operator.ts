import type { Origin } from "../../../shared/history/record.ts";

/** The ARN of this process's principal on AWS, or `local` for a local stack or an emulator. */
const principal = async (): Promise<string> => {
  if (process.env.AWS_ENDPOINT_URL_DYNAMODB || process.env.AWS_ENDPOINT_URL) return "local";
  const { STS } = await import("@aws-sdk/client-sts");
  const { Arn } = await new STS({ maxAttempts: 2 }).getCallerIdentity({});
  return Arn ?? "unknown";
};

/** The option `--on-behalf-of` of a command that changes something. Its event records the text. */
export type Caller = { readonly onBehalfOf?: string };

export const operatorOrigin = async ({ onBehalfOf }: Caller): Promise<Origin> => ({
  now: new Date(),
  actor: { type: "operator", id: await principal(), ...(onBehalfOf !== undefined && { on_behalf_of: onBehalfOf }) },
  request_id: null,
});
