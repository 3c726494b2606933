import { vi } from "vitest";
import { resetEnvironment } from "../servers/environment.ts";

// Files take turns in one process: what another has left in the environment is not for this one.
vi.unstubAllEnvs();
resetEnvironment();
const { ownGateway } = await import("../servers/own-gateway.ts");
process.env.PATCHBAY_URL = ownGateway.url;
