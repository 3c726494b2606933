import { spawn } from "node:child_process";
import { once } from "node:events";
import { accessSync, constants, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { delimiter, join } from "node:path";
import manifest from "../../package.json" with { type: "json" };

/**
 * Finds dynoxide, the embedded DynamoDB. Each platform has its own package. The lock file pins the hash of that for Linux on x64 only.
 * For the others, the version is pinned, and npm compares the file with the hash that the registry gives.
 */

/** Source: https://www.npmjs.com/search?q=%40dynoxide */
const platforms = ["darwin-arm64", "darwin-x64", "linux-arm64", "linux-x64", "win32-x64"];

type Platform = {
  /** The project's folder, which has `package.json` and `node_modules`. */
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

const installOptions =
  "--prefix . --no-save --no-package-lock --no-audit --no-fund --ignore-scripts --fetch-retries=0 --loglevel=error";

/** Installs a package into a folder of its own in `node_modules`. Safe if another process does the same. Npm prints its errors. */
const install = async (name: string, folder: string, { root, env }: Platform): Promise<void> => {
  console.error(`Installing the embedded DynamoDB, ${name}, once …`);
  mkdirSync(join(root, "node_modules"), { recursive: true });
  const cwd = mkdtempSync(`${folder}-`);
  const command = `npm install ${installOptions} ${name}`;
  const npm = spawn(command, { cwd, env, shell: true, stdio: ["ignore", "ignore", "inherit"] });
  const [status] = await once(npm, "exit");
  if (status === 0 && !existsSync(folder)) renameSync(cwd, folder);
  rmSync(cwd, { recursive: true, force: true });
};

const help = (name: string, reason: string) => `There is no embedded DynamoDB for this machine: ${reason}.
Install it:
  npm i --no-save ${name}
or run another DynamoDB, and set its endpoint:
  docker run --rm -p 8000:8000 amazon/dynamodb-local
  AWS_ENDPOINT_URL_DYNAMODB=http://127.0.0.1:8000 npm start`;

/** Searches this platform's package, which it installs if missing, then the PATH. The error if there is none contains advice. */
export const findDynoxide = async (target: Platform): Promise<string> => {
  const { root, platform, arch, env } = target;
  const file = platform === "win32" ? "dynoxide.exe" : "dynoxide";
  const scoped = join("node_modules", "@dynoxide", `${platform}-${arch}`, file);
  const ownFolder = join(root, "node_modules", ".dynoxide");
  const inPackage = [join(root, scoped), join(ownFolder, scoped)];
  const onPath = (env.PATH ?? "").split(delimiter).map((folder) => join(folder, file));
  const name = `@dynoxide/${platform}-${arch}@${manifest.optionalDependencies["@dynoxide/linux-x64"]}`;
  const isPublished = platforms.includes(`${platform}-${arch}`);
  if (isPublished && !inPackage.some(isExecutable)) await install(name, ownFolder, target);
  const found = [...inPackage, ...onPath].find(isExecutable);
  if (found) return found;
  const reason = isPublished
    ? `npm could not install ${name}, as above`
    : `dynoxide is not published for ${platform}-${arch}`;
  throw new Error(help(name, reason));
};
