import { Logger } from "@aws-lambda-powertools/logger";

/** Structured logs, one line per request. What it is given is all it prints: never hand it an event, a body or a key. */
export const log = new Logger({ serviceName: "patchbay" });
