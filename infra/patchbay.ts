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

const [program = "", subcommand = ""] = process.argv.slice(2);
// `carrier` alone is a program. `carrier check` is one of the operators' commands.
const isOperators = program === "carrier" && /^\w/.test(subcommand);
const load = isOperators ? undefined : programs.get(program);
await (load ?? (() => import("./admin/admin.ts")))();
