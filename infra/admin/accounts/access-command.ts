import type { Command } from "commander";
import { ApiError, notFound } from "../../../shared/errors.ts";
import { routes } from "../../../shared/routes.ts";
import type { ApiKey } from "../../../shared/tenants/tenant-schema.ts";
import { loadAdmissions } from "../../local/handlers.ts";
import { matcher } from "../../local/match.ts";
import { findKey, keyByReference } from "../cli/lookups.ts";
import { type Format, paint, printJson, safe } from "../cli/output.ts";
import { argumentOrInput } from "../cli/standard-input.ts";
import { add } from "../cli/usage.ts";
import { accessAdvice } from "./access-advice.ts";

/** Lets an endpoint run its own access checks, and reports each. */

type Check = readonly [check: string, about: string];

/** Returns the checks up to the failed one. `status` is null if all of them pass. */
const result = (checks: readonly Check[], refusal?: ApiError, key?: ApiKey) => ({
  checks: checks.map(([check, about], index) => {
    const ok = !refusal || index < checks.length - 1;
    const detail = [about, ...(ok ? [] : (refusal?.body.errors ?? []).map((one) => one.detail))];
    return { check, ok, detail: detail.filter(Boolean).join(": ") || null };
  }),
  status: refusal?.status ?? null,
  remedy: refusal ? adviceFor(checks, key) : null,
});

const adviceFor = (checks: readonly Check[], key: ApiKey | undefined) => {
  const [check, about] = checks.at(-1) ?? ["", ""];
  return accessAdvice({ check, about, user: key?.user, account: key?.account });
};

/** `address` is a path or a URL. Its query is ignored. */
const checkAccess = async (given: string, method: string, address: string) => {
  const start = /^https?:/.test(address) ? Math.max(0, address.indexOf("/api/")) : 0;
  const [path = ""] = address.slice(start).split("?");
  const matched = matcher(routes)(method.toUpperCase(), path);
  const routed = ["a route matches the method and the path", matched?.route.name ?? ""] as const;
  if (!matched) return result([routed], notFound());
  const [endpoint] = (await loadAdmissions([matched.route])).values();
  const reference = await argumentOrInput(given);
  const key = reference.startsWith("apik_") ? await findKey(reference) : await keyByReference(reference);
  const checks: Check[] = [routed];
  try {
    await endpoint?.admission(key, matched.pathParameters, (...check) => checks.push(check));
    return result(checks);
  } catch (error) {
    if (error instanceof ApiError && error.status < 500) return result(checks, error, key);
    throw error;
  }
};

export const addAccessCommand = (program: Command): void => {
  add(
    program,
    "access <id-or-key> <method> <path>",
    "run the checks of an endpoint for an API key; writes nothing",
  ).action(async (reference: string, method: string, path: string, { json }: Format) => {
    const { checks, status, remedy } = await checkAccess(reference, method, path);
    if (json) return printJson({ checks, status, remedy });
    for (const { check, ok, detail } of checks)
      console.log(`${paint(ok ? "ok" : "NO")}  ${safe([check, detail].filter(Boolean).join(": "))}`);
    const none = "No access check refuses this request. The endpoint validates its headers, query and body afterwards.";
    const refused = `The endpoint responds with ${status}.${remedy ? ` To change that: ${safe(remedy)}.` : ""}`;
    console.log(`\n${status === null ? none : refused}`);
  });
};
