import { writeFileSync } from "node:fs";
import { join } from "node:path";

/** `npm run deployed` */

const help = `Usage: npm run deployed

Writes docs/deployed.txt, every resource of production with all its properties, and docs/deployed-variants.txt, where other
stages differ. Their diff shows what a change of infra/aws deploys. Needs no AWS account.`;

if (process.argv.length > 2) console.log(help);
else {
  // Imported only here, because aws-cdk-lib takes a second to load.
  const { deployedPages } = await import("../../support/models/deployed.ts");
  for (const [name, text] of Object.entries(deployedPages()))
    writeFileSync(join(import.meta.dirname, "../../../docs", name), text);
}
