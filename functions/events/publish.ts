import { sendDeadLetter } from "../../shared/history/dead-letters.ts";
import { publish } from "../../shared/history/publish.ts";
import { loggingFailures } from "../../shared/log.ts";

/** Reads the table's stream, of which only new events pass the filter, and puts them on the bus. */
export const handler = loggingFailures("publish", (batch: unknown) => publish(batch, sendDeadLetter));
