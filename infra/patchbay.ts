import type { OpenConsole } from "./local/start.ts";

/** `./patchbay` runs the programs that run and deploy Patchbay, and the operators' commands. Each loads only what it needs. */

const openConsole: OpenConsole = async (...target) => (await import("./console/server.ts")).startConsole(...target);

const programs = new Map<string, () => Promise<unknown>>(
  Object.entries({
    start: async () => (await import("./local/run.ts")).runStart(openConsole),
    console: () => import("./console/run.ts"),
    carrier: () => import("./local/run-carrier.ts"),
    docs: () => import("./openapi/write-reference.ts"),
    synth: () => import("./aws/run.ts"),
    deploy: () => import("./aws/run.ts"),
    "deploy-local": () => import("./aws/run.ts"),
    destroy: () => import("./aws/run.ts"),
  }),
);

const args = process.argv.slice(2);
// `--stack` and `--port` may also come first.
const at = args.findIndex((one, index) => !one.startsWith("-") && !/^--(stack|port)$/.test(args[index - 1] ?? ""));
const [program = "", subcommand = ""] = args.slice(Math.max(0, at));
// `carrier` alone is a program. `carrier check` is one of the operators' commands.
const isOperators = program === "carrier" && /^\w/.test(subcommand);
const load = isOperators ? undefined : programs.get(program);
// A program reads the options after its name.
if (load) process.argv.splice(2, args.length, program, ...args.toSpliced(at, 1));
await (load ?? (() => import("./admin/admin.ts")))();
