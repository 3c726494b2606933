import { GetCallerIdentityCommand, STSClient } from "@aws-sdk/client-sts";
import type { Origin } from "../../shared/history/record.ts";

/** The ARN of this process's principal on AWS, or `local` for a local stack or an emulator. */
const principal = async (): Promise<string> => {
  if (process.env.AWS_ENDPOINT_URL_DYNAMODB || process.env.AWS_ENDPOINT_URL) return "local";
  const { Arn } = await new STSClient({ maxAttempts: 2 }).send(new GetCallerIdentityCommand());
  return Arn ?? "unknown";
};

/** Where a change by this command comes from, for its event. */
export const operatorOrigin = async (): Promise<Origin> => ({
  now: new Date(),
  actor: { type: "operator", id: await principal() },
  request_id: null,
});
