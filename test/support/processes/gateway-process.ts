import { serveEndpoints } from "../servers/endpoints.ts";

/** Runs the gateway and the functions in a process that can be killed. Prints its URL. */
console.log((await serveEndpoints()).url);
