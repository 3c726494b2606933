import { env } from "../env.ts";
import { isDefect } from "../errors.ts";
import { log } from "../log.ts";
import { countsOf, tryApply } from "./apply.ts";
import { isDryRun, type SectionName } from "./apply-schema.ts";

/** A function for other systems, whose payload is the file of `patchbay apply`. It returns errors instead of throwing them. */
export const applyFunction =
  (name: string, sections?: readonly SectionName[]) =>
  async (file: unknown, { awsRequestId }: { readonly awsRequestId: string }) => {
    const now = new Date();
    const origin = { now, actor: { type: "operator", id: env.operator() }, request_id: awsRequestId } as const;
    const { applied, error } = await tryApply(file, origin, sections);
    const line = {
      request_id: awsRequestId,
      ms: Date.now() - now.getTime(),
      dry_run: isDryRun(file),
      ...countsOf(applied),
    };
    if (error && error.status >= 500) log.failure(name, { ...line, error }, { isOwn: isDefect(error) });
    else log.info(name, { ...line, errors: error?.body.errors.length ?? 0 });
    return { ...applied, ...error?.body };
  };
