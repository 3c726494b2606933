import { fail } from "../../infra/local/command.ts";
import { setup } from "./install.ts";

/** `npm run tools`: installs what single checks use. */

try {
  setup();
} catch (error) {
  fail(error);
}
