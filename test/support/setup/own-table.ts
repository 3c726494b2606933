import { afterAll, vi } from "vitest";
import { resetEnvironment } from "../servers/environment.ts";

resetEnvironment();
// Imported only now: its proxies ask the environment where the table and the bucket are.
const { serveOwnTable } = await import("../servers/own-table.ts");
await serveOwnTable();
afterAll(() => vi.restoreAllMocks());
