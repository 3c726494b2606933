import { startCarrier } from "./carrier.ts";
import { fail, parseArguments, portOf } from "./command.ts";
import { terminal } from "./terminal.ts";

/** `./patchbay carrier`, which runs the simulated carrier alone. */

const help = `Usage: ./patchbay carrier [options]

Runs the simulated carrier alone, for a stack on an emulator, and prints each call. Its carts are lost when it stops.
./patchbay carrier check tests a carrier: see ./patchbay carrier check --help.

  --port <port>  its port (default: 4567, that of the stages localstack and ministack)
  --host <host>  the address on which it listens (default: 127.0.0.1). 0.0.0.0 lets containers call it, and this network
  --help         print this help`;

const known = {
  port: { type: "string", default: "4567" },
  host: { type: "string", default: "127.0.0.1" },
} as const;

const run = async () => {
  const { port, host } = parseArguments(help, { args: process.argv.slice(3), options: known }).values;
  const { carrierCall: onCall } = terminal({ quiet: false, verbose: true, nameOf: () => undefined });
  const { url } = await startCarrier({ port: portOf(port), host, onCall });
  console.log(`carrier ${url}`);
};

run().catch(fail);
