import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { deployedPages } from "../../support/models/deployed.ts";

/** `npm run deployed` */

const help = `Usage: npm run deployed

Writes docs/deployed.txt, every resource of production with all its properties, and docs/deployed-variants.txt, where other
stages differ. Their diff shows what a change of infra/aws deploys. Needs no AWS account.`;

if (process.argv.length > 2) console.log(help);
else
  for (const [name, text] of Object.entries(deployedPages()))
    writeFileSync(join(import.meta.dirname, "../../../docs", name), text);
