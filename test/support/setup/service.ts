import { resetEnvironment } from "../servers/environment.ts";

resetEnvironment();
const { ownGateway } = await import("../servers/own-gateway.ts");
process.env.PATCHBAY_URL = ownGateway.url;
