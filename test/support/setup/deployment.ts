import { resetEnvironment } from "../servers/environment.ts";

// Starts no gateway, so that all requests go to the deployment under test.
resetEnvironment();
