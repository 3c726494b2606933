import { afterAll, vi } from "vitest";
import { resetEnvironment } from "../servers/environment.ts";

resetEnvironment();
// It is imported only after the reset, because its proxies read the addresses of the table and the bucket from the environment.
const { serveOwnTable } = await import("../servers/own-table.ts");
await serveOwnTable();
afterAll(() => vi.restoreAllMocks());
