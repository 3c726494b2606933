import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { ArgumentError, fail, parseArguments } from "../../infra/local/command.ts";

/**
 * `npm run test:e2e` runs the end-to-end suite, over HTTP, against an existing deployment or another implementation of the
 * interface.
 */

const help = `Usage: npm run test:e2e -- --base-url <url> [options] [part of a file's name]

Runs the end-to-end suite against a deployment: AWS, LocalStack, MiniStack, or \`npm start\`. It creates accounts, orders
and its own keys with the operators' CLI, and leaves them there: use a sandbox.

  --base-url <url>     the stack's output BaseUrl, or what \`npm start\` prints
  --stack <name>       the deployed stack (default: the environment's PATCHBAY_STACK; else Patchbay-sandbox, where the
                       URL is not that of the local stack)
  --carrier-url <url>  the simulated carrier that the deployment's carrierUrl names, as this machine reaches it (default:
                       that of the local stack; else http://127.0.0.1:4567, where ./patchbay carrier starts it)
  --malware-scan       the deployment scans files; the local stack says so itself
  --help               show this

An emulator's endpoint is taken from its URL, or from AWS_ENDPOINT_URL.

       npm run test:e2e -- --base-url <url> --key <API key> --request <id> --order <id> [options]

Tests what the interface promises of any implementation, over HTTP alone, with a key that has all permissions. Deletes what it
creates.

  --request <id>       a request in a cart, for its attachments
  --order <id>         an order, for its attachments
  --account <id>       an account below the key's, for a switch (default: none is created there)
  --other-key <key>    a key that must not see the request, the order and the switches (default: this is not tested)
  --guest-key <key>    a key of the same account, whose user has no permissions (default: this is not tested)`;

/** Returns the options of the second usage, as the tests get them, or undefined for the first. */
const givenOf = (values: Readonly<Record<string, string | boolean | undefined>>) => {
  const { key, request, order, account, "other-key": otherKey, "guest-key": guestKey } = values;
  if (key === undefined) return undefined;
  if (!request || !order)
    throw new ArgumentError("With --key, name a request and an order: --request <id> --order <id>.");
  return { key, request, order, account, otherKey, guestKey };
};

const run = (): number => {
  const { values, positionals } = parseArguments(help, {
    allowPositionals: true,
    options: {
      "base-url": { type: "string" },
      stack: { type: "string" },
      "carrier-url": { type: "string" },
      "malware-scan": { type: "boolean", default: false },
      key: { type: "string" },
      request: { type: "string" },
      order: { type: "string" },
      account: { type: "string" },
      "other-key": { type: "string" },
      "guest-key": { type: "string" },
    },
  });
  const baseUrl = values["base-url"];
  if (!baseUrl) throw new ArgumentError("Name the address of the deployment: --base-url <url>.");
  if (!URL.canParse(baseUrl)) throw new ArgumentError(`${baseUrl} is not a URL.`);
  const root = join(import.meta.dirname, "../..");
  const vitest = [join(root, "node_modules/vitest/vitest.mjs"), "run", "--config", "vitest.e2e.config.ts"];
  const given = givenOf(values);
  if (given) positionals.push("interface");
  const env = {
    ...process.env,
    ...(given && { E2E_GIVEN: JSON.stringify(given) }),
    E2E_BASE_URL: baseUrl.replace(/\/$/, ""),
    PATCHBAY_URL: baseUrl.replace(/\/$/, ""),
    ...(values.stack && { PATCHBAY_STACK: values.stack }),
    ...(values["carrier-url"] && { E2E_CARRIER_URL: values["carrier-url"] }),
    ...(values["malware-scan"] && { E2E_MALWARE_SCAN: "yes" }),
  };
  return spawnSync(process.execPath, [...vitest, ...positionals], { cwd: root, stdio: "inherit", env }).status ?? 1;
};

try {
  process.exitCode = run();
} catch (error) {
  fail(error);
}
