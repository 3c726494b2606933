import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import * as z from "zod/mini";
import { fromTemplate, type SettingsRecord } from "./deployed-settings.ts";

const root = join(import.meta.dirname, "../..");
const assembly = join(root, ".patchbay/cdk.out");

/** The options that say what is deployed or deleted, by npm's names. */
export const contextOptions = ["call", "context", "profile", "force"];

/** Parses a command's arguments: its context, its profile, `--help`, and the `rest`, which is passed on to `cdk`. */
export const readArguments = (args: readonly string[]) => {
  const { values } = parseArgs({
    args: [...args],
    strict: false,
    allowPositionals: true,
    options: {
      context: { type: "string", short: "c", multiple: true },
      profile: { type: "string" },
      help: { type: "boolean", short: "h" },
    },
  });
  const assignments = (values.context ?? []).filter((each) => typeof each === "string");
  const context = Object.fromEntries(
    assignments.map((assignment) => {
      const [name = "", ...value] = assignment.split("=");
      return [name, value.join("=")];
    }),
  );
  const profile = typeof values.profile === "string" ? values.profile : undefined;
  return { context, profile, help: values.help === true, rest: withoutContext(args) };
};

const withoutContext = (args: readonly string[]): string[] =>
  args.filter((arg, index) => {
    const isValue = /^(-c|--context)$/.test(args[index - 1] ?? "");
    return !isValue && !/^(-c|--context)($|=)|^-c./.test(arg);
  });

export type Context = Readonly<Record<string, string>>;

const contextArguments = (context: Context) =>
  Object.entries(context).flatMap(([name, value]) => ["-c", `${name}=${value}`]);

/** Runs `cdk`. Windows cannot spawn the script in `.bin`. If it fails, exits with its status. */
const cdk = (args: readonly string[], environment: NodeJS.ProcessEnv) => {
  const { status } = spawnSync(process.execPath, [join(root, "node_modules/aws-cdk/bin/cdk"), ...args], {
    cwd: root,
    env: environment,
    stdio: "inherit",
  });
  if (status !== 0) process.exit(status ?? 1);
};

/** The stack in an assembly, and the settings recorded in its template. */
type Synthesized = { readonly stackName: string; readonly record: SettingsRecord };

const Manifest = z.object({ artifacts: z.record(z.string(), z.looseObject({ type: z.string() })) });

const readAssembly = (): Synthesized => {
  const { artifacts } = z.parse(Manifest, JSON.parse(readFileSync(join(assembly, "manifest.json"), "utf8")));
  const stackName = Object.entries(artifacts).find(([, { type }]) => type === "aws:cloudformation:stack")?.[0];
  if (!stackName) throw new Error("The synthesis has no stack.");
  const record = fromTemplate(JSON.parse(readFileSync(join(assembly, `${stackName}.template.json`), "utf8")));
  if (!record) throw new Error("The template records no settings.");
  return { stackName, record };
};

/** Synthesizes the stack with this context. `deployAssembly` deploys exactly the result. */
export const synthesize = (context: Context, environment: NodeJS.ProcessEnv): Synthesized => {
  mkdirSync(join(root, ".patchbay"), { recursive: true });
  console.log("Building the functions and the template …");
  cdk(["synth", "--quiet", "--output", assembly, ...contextArguments(context)], environment);
  return readAssembly();
};

export const deployAssembly = (args: readonly string[], environment: NodeJS.ProcessEnv) =>
  cdk(["deploy", "--app", assembly, ...args], environment);

export const destroyAssembly = (args: readonly string[], environment: NodeJS.ProcessEnv) =>
  cdk(["destroy", "--app", assembly, ...args], environment);

export const bootstrapAssembly = (environment: NodeJS.ProcessEnv) => cdk(["bootstrap", "--app", assembly], environment);
