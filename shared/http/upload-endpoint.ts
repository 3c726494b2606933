import { endpointReading } from "./endpoint.ts";
import { readForm } from "./form.ts";

/** An endpoint that takes a form with a file. */
export const uploadEndpoint = endpointReading(readForm);
