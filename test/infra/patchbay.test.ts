import { execFile } from "node:child_process";
import { copyFileSync, mkdirSync, readdirSync, realpathSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, describe, expect, it } from "vitest";
import { openData } from "../../infra/local/data.ts";
import { newId } from "../../shared/schema/fields.ts";
import { newFolder } from "../support/fixtures/new-folder.ts";
import { localServices, userEnvironment } from "../support/processes/local-service.ts";
import { runScript } from "../support/processes/shell.ts";

/** The front door as operators use it, from other folders, and with texts of other people. */

const root = join(import.meta.dirname, "../..");
const door = join(root, "patchbay");

const services = localServices();
afterAll(() => services.remove());
const env = { ...userEnvironment, PATCHBAY_STATE: services.state };
const run = (command: string, args: readonly string[], cwd: string) =>
  promisify(execFile)(command, args, { cwd, env: { ...env, PATH: process.env.PATH } });

describe.skipIf(process.platform === "win32")("./patchbay", () => {
  it("works from any folder, by its path and by a symbolic link to it, and reads the files of that folder", async () => {
    await services.start([]);
    const folder = newFolder();
    const links = join(folder, "a # folder 100%?");
    mkdirSync(links);
    symlinkSync(door, join(links, "first"));
    symlinkSync("first", join(links, "second"));
    writeFileSync(join(folder, "customer.json"), JSON.stringify({ accounts: { acme: { name: "Nordwind" } } }));
    for (const command of [door, "./a # folder 100%?/second"]) {
      const { stdout } = await run(command, ["apply", "customer.json", "--dry-run", "--json"], folder);
      expect(JSON.parse(stdout).accounts).toEqual({ acme: { id: null, status: "created" } });
    }
  });

  it("works in a folder whose name has characters of URLs", async () => {
    const project = join(newFolder(), "a # folder 100%25?");
    mkdirSync(join(project, "infra"), { recursive: true });
    copyFileSync(door, join(project, "patchbay"));
    copyFileSync(join(root, "infra/patchbay.js"), join(project, "infra/patchbay.js"));
    symlinkSync(join(root, "node_modules"), join(project, "node_modules"));
    writeFileSync(join(project, "package.json"), '{"type": "module"}');
    writeFileSync(join(project, "infra/node.js"), "");
    writeFileSync(join(project, "infra/patchbay.ts"), "console.log(process.cwd(), ...process.argv.slice(2));");
    const elsewhere = realpathSync(newFolder());
    expect((await run(join(project, "patchbay"), ["a b", "$c", "*"], elsewhere)).stdout).toBe(
      `${elsewhere} a b $c *\n`,
    );
  });

  it("has no command that every object of JavaScript has", async () => {
    const error = await run(door, ["constructor"], root).catch(Object);
    expect([error.code, error.stderr]).toEqual([2, expect.stringContaining("There is no command constructor.")]);
  });

  it.each(["console", "start"])("takes --port before %s, too", async (program) => {
    const usage = expect.stringMatching(new RegExp(`^Usage: ./patchbay ${program} `));
    expect((await run(door, ["--port", "1", program, "--help"], root)).stdout).toEqual(usage);
  });

  it("env prints what a shell reads as text, whatever the carrier's address and the folder of the data are", async () => {
    const folder = newFolder();
    const data = join(folder, "$(touch ran)'\"; touch ran");
    const carrierUrl = "http://127.0.0.1:9/`{touch,ran}`/$({touch,ran});'touch';";
    const stored = openData(data);
    const [id, key] = [newId(), "$(touch ran)'`touch ran`"];
    stored.saveDemo({ account: id, subAccount: id, key, subAccountKey: key, order: id, request: id });
    stored.close();
    const service = await services.start(["--data", data, "--carrier-url", carrierUrl]);
    const script = `cd '${folder}'; eval "$('${door}' env --port ${new URL(service.url).port})"; printf '%s\\n' "$CARRIER" "$KEY"`;
    const { output } = await runScript(script, env);
    expect(output).toBe(`${carrierUrl}\n$(touch ran)'\`touch ran\`\n`);
    expect(readdirSync(folder)).toEqual(["$(touch ran)'\"; touch ran"]);
  });

  it("npm start takes paths from the folder in which its user stands", async () => {
    const folder = join(root, ".patchbay", `test-${crypto.randomUUID()}`);
    mkdirSync(folder, { recursive: true });
    const { child, ready, output } = services.spawnService(["--data", "here"], {
      INIT_CWD: folder,
      npm_lifecycle_event: "start",
    });
    expect(await ready, output.stderr).toBe(true);
    child.kill("SIGTERM");
    expect(readdirSync(folder)).toEqual(["here"]);
  });
});
