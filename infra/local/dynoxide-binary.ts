import { execFile } from "node:child_process";
import { accessSync, constants, mkdirSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import * as z from "zod/mini";
import manifest from "../../package.json" with { type: "json" };
import { parseJson } from "./json-file.ts";

/** Finds dynoxide, the embedded DynamoDB. Each platform has its own package; the lock file contains only that for Linux on x64. */

/** Source: https://www.npmjs.com/search?q=%40dynoxide */
const platforms = ["darwin-arm64", "darwin-x64", "linux-arm64", "linux-x64", "win32-x64"];

type Platform = {
  /** The project's folder: where `package.json` and `node_modules` are. */
  readonly root: string;
  readonly platform: string;
  readonly arch: string;
  readonly env: NodeJS.ProcessEnv;
};

const isExecutable = (path: string): boolean => {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
};

const NpmReport = z.object({ error: z.object({ code: z.optional(z.string()), summary: z.string() }) });

/** Why npm failed: the code and the first line of the report that `--json` prints. Without one, npm has not started. */
const npmErrorOf = ({ stdout = "", message }: Error & { stdout?: string }): string => {
  const { code = [], summary } = parseJson(NpmReport, stdout)?.error ?? { summary: message };
  return [code, summary.split("\n").slice(0, 1)].flat().join(": ");
};

const installOptions = "--no-save --no-package-lock --no-audit --no-fund --ignore-scripts --fetch-retries=0 --json";

/** Installs a package into a folder of its own in `node_modules`. Safe if another process does the same. */
const install = async (name: string, folder: string, { root, env }: Platform): Promise<void> => {
  console.error(`Installing the embedded DynamoDB, ${name}, once …`);
  mkdirSync(join(root, "node_modules"), { recursive: true });
  const temporary = mkdtempSync(`${folder}-`);
  // The npm that has started this process, or else the one on the PATH.
  const { npm_execpath: own } = env;
  const [command, first] = own?.endsWith(".js") ? [process.execPath, [own]] : ["npm", []];
  const args = [...first, "install", "--prefix", temporary, ...installOptions.split(" "), name];
  try {
    await promisify(execFile)(command, args, { env, shell: process.platform === "win32" && !own });
    renameSync(temporary, folder);
  } finally {
    rmSync(temporary, { recursive: true, force: true });
  }
};

const help = (name: string, reason: string) => `There is no embedded DynamoDB for this machine: ${reason}
Install it:
  npm i --no-save ${name}
or run another DynamoDB, and set its endpoint:
  docker run --rm -p 8000:8000 amazon/dynamodb-local
  AWS_ENDPOINT_URL_DYNAMODB=http://127.0.0.1:8000 npm start`;

/** From this platform's package, which is installed if it is missing, or from the PATH. Throws an error that says what to do. */
export const findDynoxide = async (target: Platform): Promise<string> => {
  const { root, platform, arch, env } = target;
  const file = platform === "win32" ? "dynoxide.exe" : "dynoxide";
  const scoped = join("node_modules", "@dynoxide", `${platform}-${arch}`, file);
  const ownFolder = join(root, "node_modules", ".dynoxide");
  const found = [join(root, scoped), join(ownFolder, scoped)].find(isExecutable);
  if (found) return found;
  const name = `@dynoxide/${platform}-${arch}@${manifest.optionalDependencies["@dynoxide/linux-x64"]}`;
  let reason = `dynoxide is not published for ${platform}-${arch}.`;
  if (platforms.includes(`${platform}-${arch}`)) {
    reason = await install(name, ownFolder, target).then(
      () => `${name} has no ${file}.`,
      (error: Error) => `npm could not install ${name} (${npmErrorOf(error)}).`,
    );
    if (isExecutable(join(ownFolder, scoped))) return join(ownFolder, scoped);
  }
  const onPath = (env.PATH ?? "").split(delimiter).map((folder) => join(folder, file));
  const other = onPath.find(isExecutable);
  if (other) return other;
  throw new Error(help(name, reason));
};
