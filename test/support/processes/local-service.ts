import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { GetObjectCommand, paginateListObjectsV2, S3Client } from "@aws-sdk/client-s3";
import { SFNClient, StartExecutionCommand } from "@aws-sdk/client-sfn";
import pLimit from "p-limit";
import * as z from "zod/mini";
import { sha256Of } from "../fixtures/upload-content.ts";
import { admin } from "./admin-cli.ts";

const root = join(import.meta.dirname, "../../..");

const State = z.object({
  pid: z.number(),
  url: z.string(),
  environment: z.record(z.string(), z.string()),
  demo: z.record(z.string(), z.string()),
});

/** Matches the variables of the tests' service, which the environment of a user lacks. */
const ours =
  /^(TABLE_NAME|BUCKET_NAME|AWS_ENDPOINT_|STATE_MACHINE_|(APPLY|ORDERING)_FUNCTION_|CARRIER_|PATCHBAY_|LOG_LEVEL|PORT$|NODE_V8_COVERAGE$)/;
export const userEnvironment = Object.fromEntries(Object.entries(process.env).filter(([name]) => !ours.test(name)));

const exited = async (child: ChildProcess) => {
  if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
};

const killGroup = (pid: number) => {
  try {
    process.kill(-pid, "SIGKILL");
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ESRCH")) throw error;
  }
};

/** Creates a folder for the data and the state of local services. `remove` stops all services and deletes the folder. */
export const localServices = () => {
  const folder = mkdtempSync(join(tmpdir(), "patchbay-local-"));
  const [data, state] = [join(folder, "data"), join(folder, "state")];
  const started: ChildProcess[] = [];

  /** Starts the local service in a new process group, and collects its output. The last parameter may be a command with npm. */
  const spawnService = (
    args: readonly string[] = ["--data", data],
    env: Readonly<Record<string, string>> = {},
    [program, ...words]: readonly [string, ...string[]] = [process.execPath, "infra/patchbay.ts", "start"],
  ) => {
    const child = spawn(program, [...words, "--port", "0", ...args], {
      cwd: root,
      env: { ...userEnvironment, PATCHBAY_STATE: state, ...env },
      detached: true,
    });
    started.push(child);
    const output = { stdout: "", stderr: "" };
    child.stderr.on("data", (chunk) => {
      output.stderr += chunk;
    });
    const lines = createInterface({ input: child.stdout });
    lines.on("line", (line) => {
      output.stdout += `${line}\n`;
    });
    const ready = new Promise<boolean>((resolve) => {
      lines.on("line", (line) => line.includes("Stop: Ctrl-C") && resolve(true));
      child.once("close", () => resolve(false));
    });
    return { child, output, ready };
  };

  const start = async (args?: readonly string[], env?: Readonly<Record<string, string>>) => {
    const { child, output, ready } = spawnService(args, env);
    if (!(await ready)) throw new Error(`npm start ended before it was ready: ${output.stderr}`);
    const written = readdirSync(state).map((file) => JSON.parse(readFileSync(join(state, file), "utf8")));
    const own = z.parse(z.array(State), written).find(({ pid }) => pid === child.pid);
    if (!own) throw new Error("npm start has not written its state.");
    const { url, environment, demo } = own;
    const signal = async (name: "SIGINT" | "SIGTERM" | "SIGKILL") => {
      if (child.pid !== undefined) process.kill(name === "SIGKILL" ? -child.pid : child.pid, name);
      await exited(child);
      return child.exitCode;
    };
    return {
      url,
      demo,
      environment,
      output,
      child,
      stop: () => signal("SIGINT"),
      terminate: () => signal("SIGTERM"),
      /** Calls the API with the demo customer's key. */
      call: (method: string, path: string, body: FormData | null = null) =>
        fetch(`${url}/api/v1${path}`, { method, headers: { authorization: `Bearer ${demo.KEY}` }, body }),
      /** The path of the attachments of the demo's request. */
      attachments: `/requests/${demo.REQUEST}/attachments`,
      /** The demo order's cart at the carrier. */
      cart: async (): Promise<unknown> => (await fetch(`${environment.CARRIER_URL}/carts/${demo.ORDER}`)).json(),
      /** Applies a tenants file as an ordering system does. */
      apply: async (document: object): Promise<unknown> => {
        const { AWS_ENDPOINT_URL_LAMBDA, APPLY_FUNCTION_NAME } = environment;
        const path = `/2015-03-31/functions/${APPLY_FUNCTION_NAME}/invocations`;
        const body = JSON.stringify(document);
        return (await fetch(AWS_ENDPOINT_URL_LAMBDA + path, { method: "POST", body })).json();
      },
      /** Starts a checkout as another system does. */
      startCheckout: async (order: string) => {
        const { AWS_ENDPOINT_URL_SFN: endpoint = "", STATE_MACHINE_ARN: stateMachineArn } = environment;
        const input = JSON.stringify({ order_id: order });
        const start = new StartExecutionCommand({ stateMachineArn, name: `checkout-${order}-1`, input });
        await new SFNClient({ endpoint }).send(start);
      },
      /** Kills the whole process group with SIGKILL. */
      kill: () => signal("SIGKILL"),
      /** The SHA-256 of every file in the bucket, by the id of its attachment. */
      files: async (): Promise<Map<string, string>> => {
        const { AWS_ENDPOINT_URL_S3: endpoint = "", BUCKET_NAME: Bucket = "" } = environment;
        const client = new S3Client({ endpoint, forcePathStyle: true });
        const pages = await Array.fromAsync(paginateListObjectsV2({ client }, { Bucket }));
        const digest = async (Key = ""): Promise<[string, string]> => {
          const { Body } = await client.send(new GetObjectCommand({ Bucket, Key }));
          return [Key.slice(Key.lastIndexOf("/") + 1), sha256Of((await Body?.transformToByteArray()) ?? "")];
        };
        const keys = pages.flatMap(({ Contents = [] }) => Contents.map(({ Key }) => Key));
        return new Map(await pLimit(10).map(keys, digest));
      },
      admin: (...words: string[]) =>
        admin(words, { env: { PATCHBAY_STATE: state, TABLE_NAME: "", PORT: new URL(url).port } }),
    };
  };

  const remove = async () => {
    for (const child of started) {
      // Also kills processes that an ended child has left in its group.
      if (child.pid !== undefined) killGroup(child.pid);
      if (child.exitCode === null && child.signalCode === null) child.kill("SIGKILL");
      await exited(child);
    }
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  };
  return { data, state, spawnService, start, remove };
};

export type LocalService = Awaited<ReturnType<ReturnType<typeof localServices>["start"]>>;
