import { createServer } from "node:http";
import { expect, it, onTestFinished } from "vitest";
import { listen } from "../infra/local/listen.ts";
import { runNode } from "./support/processes/shell.ts";
import { exhaustive } from "./support/setup/extent.ts";

it.runIf(exhaustive)("the end-to-end suite judges the service at the base URL, and no other", async () => {
  const paths = new Set<string>();
  const server = createServer((request, response) => {
    paths.add(`${request.method} ${request.url}`);
    response.setHeader("content-type", "application/json").end("{}");
  });
  const { url } = await listen(server, 0);
  onTestFinished(() => void server.close());
  const given = ["--key", "apik_k", "--request", "R", "--order", "O"];
  const { code, stdout } = await runNode(["test/e2e/run.ts", "--base-url", url, ...given]);
  expect([code, stdout]).toEqual([1, expect.stringMatching(/Tests\s.*19 failed/)]);
  expect(paths).toContain("POST /api/v1/requests/R/attachments");
  expect(paths).toContain("POST /api/v1/orders/O/attachments");
  expect(paths).toContain("GET /api/v1/switches");
});
