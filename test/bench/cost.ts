import { endpointCosts } from "../cost/expected.ts";
import { ofEndpoint, prices } from "../cost/month.ts";
import { round, type Section } from "./figures.ts";

/** The round trips, capacity units and dollars of one request to each endpoint, as the tests in `cost/` measure them. */
export const cost = async (): Promise<Section> => ({
  title: "Round trips, capacity units and cost",
  notes: [
    "On-demand prices of us-east-1: $0.125 and $0.625 per million read and write units, $5 per million S3 PUTs, $0.20",
    "per million invocations, $0.0000133334 per GB-second (arm64, 1 GB, 5 ms a round trip), $3.50 per million API calls.",
  ],
  rows: endpointCosts.map(([endpoint, status, calls, rounds, readUnits, writeUnits]) => {
    const { table, functions, gateway } = ofEndpoint(endpoint);
    const stored = table + (endpoint.endsWith("-attachments/create") ? prices.s3Put : 0);
    return {
      endpoint,
      status,
      calls,
      "in a row": rounds,
      "read units": readUnits,
      "write units": writeUnits,
      "table and files, $ per million": round(stored * 1e6),
      "with function and gateway": round((stored + functions + gateway) * 1e6),
    };
  }),
});
