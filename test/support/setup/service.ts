import { resetEnvironment } from "../servers/environment.ts";

resetEnvironment();
