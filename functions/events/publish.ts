import { sendDeadLetter } from "../../shared/history/dead-letters.ts";
import { publish } from "../../shared/history/publish.ts";
import { loggingFailures } from "../../shared/log.ts";

/** Puts the new events of the table's stream on the bus. The stream's filter passes nothing else. */
export const handler = loggingFailures("publish", (batch: unknown) => publish(batch, sendDeadLetter));
