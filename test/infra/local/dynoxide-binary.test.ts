import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { copyFileSync, cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { findDynoxide } from "../../../infra/local/dynoxide-binary.ts";
import { listen } from "../../../infra/local/listen.ts";
import { newFolder } from "../../support/fixtures/new-folder.ts";
import { exhaustive } from "../../support/setup/extent.ts";

const project = join(import.meta.dirname, "../../..");
const installed = join(project, "node_modules/@dynoxide/linux-x64/dynoxide");
const manifest = JSON.parse(readFileSync(join(project, "package.json"), "utf8"));
const version: string = manifest.optionalDependencies["@dynoxide/linux-x64"];

let root: string;
beforeEach(() => {
  root = newFolder();
  for (const name of ["package.json", "package-lock.json"]) copyFileSync(join(project, name), join(root, name));
  vi.spyOn(console, "error").mockImplementation(() => {});
});
afterEach(() => void vi.restoreAllMocks());

/** A registry with one package. */
const startRegistry = async () => {
  const folder = newFolder();
  cpSync(join(project, "node_modules/@dynoxide/linux-x64"), join(folder, "package"), { recursive: true });
  await promisify(execFile)("tar", ["-cf", join(folder, "package.tar"), "-C", folder, "package"]);
  const tarball = readFileSync(join(folder, "package.tar"));
  const integrity = `sha512-${createHash("sha512").update(tarball).digest("base64")}`;
  const { url, close } = await listen(
    createServer((request, response) => {
      if (request.url?.endsWith(".tgz")) return response.end(tarball);
      const name = "@dynoxide/linux-x64";
      const versions = { [version]: { name, version, dist: { tarball: `${url}/package.tgz`, integrity } } };
      return response.end(JSON.stringify({ name, "dist-tags": { latest: version }, versions }));
    }),
  );
  onTestFinished(close);
  return { npm_config_registry: url };
};

const find = (env: Record<string, string>, arch = "x64") => {
  const { PATH = "", HOME = "" } = process.env;
  const npm_config_cache = join(root, "cache");
  return findDynoxide({ root, platform: "linux", arch, env: { PATH, HOME, npm_config_cache, ...env } });
};
const offline = { npm_config_registry: "http://127.0.0.1:1" };
const manifests = () => ["package.json", "package-lock.json"].map((name) => readFileSync(join(root, name), "utf8"));

describe("the embedded DynamoDB's binary", () => {
  it("comes from the platform's package", async () => {
    const folder = join(root, "node_modules/@dynoxide/linux-x64");
    mkdirSync(folder, { recursive: true });
    copyFileSync(installed, join(folder, "dynoxide"));
    expect(await find(offline)).toBe(join(folder, "dynoxide"));
  });

  it.runIf(exhaustive)("is installed once in the right version, with a message, if it is missing", async () => {
    const before = manifests();
    const path = await find(await startRegistry());
    expect(path).toBe(join(root, "node_modules/.dynoxide/node_modules/@dynoxide/linux-x64/dynoxide"));
    expect((await promisify(execFile)(path, ["--version"])).stdout).toContain(version);
    expect(manifests()).toEqual(before);
    expect(await find(offline)).toBe(path);
    expect(vi.mocked(console.error).mock.calls).toEqual([
      [`Installing the embedded DynamoDB, @dynoxide/linux-x64@${version}, once …`],
    ]);
    expect(readdirSync(join(root, "node_modules"))).toEqual([".dynoxide"]);
  });

  it("comes from the PATH if it cannot be installed", async () => {
    symlinkSync(installed, join(root, "dynoxide"));
    expect(await find({ ...offline, PATH: `${process.env.PATH}:${root}` }, "riscv64")).toBe(join(root, "dynoxide"));
  });

  it.each([
    ["x64", "npm could not install @dynoxide/linux-x64@.*, as above"],
    ["riscv64", "dynoxide is not published for linux-riscv64"],
  ])("is missing on linux-%s while offline, and the error says how to get it", async (arch, reason) => {
    const install = `Install it:\n  npm i --no-save @dynoxide/linux-${arch}@${version}`;
    const message = new RegExp(`^There is no embedded DynamoDB for this machine: ${reason}\\.\n${install}\n`);
    await expect(find(offline, arch)).rejects.toThrow(message);
  });
});
