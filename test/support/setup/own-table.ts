import { afterAll, vi } from "vitest";
import { resetEnvironment } from "../servers/environment.ts";

resetEnvironment();
// Imported only after the reset, since its proxies read the addresses of the table and the bucket from the environment.
const { serveOwnTable } = await import("../servers/own-table.ts");
await serveOwnTable();
afterAll(() => vi.restoreAllMocks());
