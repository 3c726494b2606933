import { prices, secondsOf } from "../cost/month.ts";
import { requestPerEndpoint } from "../support/requests/request-per-endpoint.ts";
import { measuredService } from "../support/servers/measured-service.ts";
import { round, type Section } from "./figures.ts";
import { startParts } from "./parts.ts";

/** Measures round trips, capacity units and dollars of one request to each endpoint. */
export const cost = async (): Promise<Section> => {
  const parts = await startParts();
  const service = await measuredService();
  const { tenants } = await import("../support/fixtures/tenants.ts");
  const t = await tenants();
  const place = { key: t.key("acme"), request: t.request("acme"), order: t.order("acme"), account: t.account("east") };
  const rows: Record<string, string | number>[] = [];
  for (const [name, cost] of await service.measureAll(requestPerEndpoint(service.send, place))) {
    const { status, calls, rounds, readUnits, writeUnits } = cost;
    const puts = calls.filter((call) => call === "PutObject").length;
    const table = readUnits * prices.readUnit + writeUnits * prices.writeUnit + puts * prices.s3Put;
    const compute = prices.lambdaRequest + secondsOf(rounds) * prices.lambdaSecond;
    rows.push({
      endpoint: name,
      status,
      calls: calls.length,
      "in a row": rounds,
      "read units": readUnits,
      "write units": writeUnits,
      "table and files, $ per million": round(table * 1e6),
      "with function and gateway": round((table + compute + prices.gatewayRequest) * 1e6),
    });
  }
  await service.close();
  await parts.stop();
  return {
    title: "Round trips, capacity units and cost",
    notes: [
      "On-demand prices of us-east-1: $0.125 and $0.625 per million read and write units, $5 per million S3 PUTs, $0.20",
      "per million invocations, $0.0000133334 per GB-second (arm64, 1 GB, 5 ms a round trip), $3.50 per million API calls.",
    ],
    rows,
  };
};
