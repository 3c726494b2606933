import { env } from "../../shared/env.ts";
import { log } from "../../shared/log.ts";
import { countsOf, tryApply } from "../../shared/tenants/apply.ts";
import { isDryRun } from "../../shared/tenants/file.ts";

/** Other systems' way in. The payload is the file of `admin apply`; returns its output, and errors instead of throwing them. */
export const handler = async (file: unknown, { awsRequestId }: { readonly awsRequestId: string }) => {
  const now = new Date();
  const origin = { now, actor: { type: "operator", id: env.operator() }, request_id: awsRequestId } as const;
  const { applied, error } = await tryApply(file, origin);
  const line = {
    request_id: awsRequestId,
    ms: Date.now() - now.getTime(),
    dry_run: isDryRun(file),
    ...countsOf(applied),
  };
  if (error && error.status >= 500) log.error("apply", { ...line, error });
  else log.info("apply", { ...line, errors: error?.body.errors.length ?? 0 });
  return { ...applied, ...error?.body };
};
