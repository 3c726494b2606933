import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArguments } from "../../../infra/local/command.ts";

/** `npm run deployed` */

const help = `Usage: npm run deployed

Writes docs/deployed.txt, the resources of production with their properties. Its diff shows what a change of infra/aws deploys. Needs
no AWS account.`;

parseArguments(help, {});
// Imported only here, because aws-cdk-lib takes a second to load.
const { deployedPage } = await import("../../support/models/deployed.ts");
writeFileSync(join(import.meta.dirname, "../../../docs/deployed.txt"), deployedPage());
