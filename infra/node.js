import module from "node:module";
import { join } from "node:path";
import process from "node:process";

/**
 * Runs before every program: `node --import ./infra/node.js <file>.ts`. It is plain JavaScript, so that a Node that cannot run
 * TypeScript can print the error. With the compile cache on before the first TypeScript file, Node need not load its type stripper.
 */

if (Number.parseInt(process.versions.node, 10) < 24) {
  console.error(
    `Patchbay needs Node 24 or newer, and this is Node ${process.versions.node}. Run npm ci --include=optional, which installs it for npm and npx on Linux and macOS (x64, arm64) and on Windows (x64); elsewhere, install it yourself.`,
  );
  process.exit(1);
}

// The package for macOS on ARM contains Node 24.0, which warns that stripping types is experimental.
const { emitWarning } = process;
process.emitWarning = (...warning) => warning[1] === "ExperimentalWarning" || emitWarning(...warning);

module.enableCompileCache(join(import.meta.dirname, "../node_modules/.cache/compile"));
