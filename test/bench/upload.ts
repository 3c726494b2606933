import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { lambdaContext } from "../../infra/local/proxy-event.ts";
import { alternating, interleaved, median, round, type Section } from "./figures.ts";
import { type BenchService, benchService } from "./service.ts";

const bytes = 4_200_000;
const runChild = promisify(execFile);

const uploadOf = ({ place }: BenchService, size: number) => {
  const body = new FormData();
  body.append("data[name]", "Letter of authorization");
  body.append("data[file]", new File([new Uint8Array(size).fill(7)], "loa.pdf", { type: "application/pdf" }));
  const path = `/api/v1/requests/${place.request}/attachments`;
  return { method: "POST", path, init: { headers: { authorization: `Bearer ${place.key}` }, body } };
};

/** Measures the upload of a 4.2 MB file, compared with decoding base64, one PUT and one transaction of the same bytes. */
export const upload = async (repetitions: number): Promise<Section> => {
  const service = await benchService();
  const small = await service.eventOf(uploadOf(service, 10));
  const event = await service.eventOf(uploadOf(service, bytes));
  const handler = service.handlers.get("request-attachments/create");
  const { uploadBare } = await import("./upload-bare.ts");
  const checked = (send: () => Promise<{ statusCode: number }> | undefined) => async () => async () => {
    const response = await send();
    if (response?.statusCode !== 201) throw new Error(`the upload returned ${response?.statusCode}`);
  };
  const [ourTimes, bareTimes] = await alternating(
    checked(() => handler?.(event, lambdaContext(29_000))),
    checked(() => uploadBare(event)),
    repetitions,
  );
  const folder = mkdtempSync(join(tmpdir(), "patchbay-bench-"));
  const file = join(folder, "event.json");
  writeFileSync(file, JSON.stringify([small, event]));
  const peak = async (mode: string) => {
    const script = join(import.meta.dirname, "upload-child.ts");
    const { stdout } = await runChild(process.execPath, ["--expose-gc", script, mode, file], {
      env: { ...process.env, ...service.environment, NODE_NO_WARNINGS: "1" },
    });
    return Number(JSON.parse(stdout).extra);
  };
  const peaks = await interleaved({ ours: () => peak("ours"), bare: () => peak("bare") }, 7);
  rmSync(folder, { recursive: true });
  const [ours, bare] = [median(ourTimes), median(bareTimes)];
  const copies = (name: string) => round(median(peaks.get(name) ?? []) / bytes);
  await service.close();
  return {
    title: `Upload of ${bytes} bytes, medians of ${repetitions}`,
    notes: ["The bare upload does not parse or check anything. Memory: the peak beyond that with the event loaded."],
    rows: [
      { upload: "ours", ms: round(ours), ratio: round(ours / bare), target: 1.3, "memory, in files": copies("ours") },
      { upload: "bare", ms: round(bare), ratio: 1, target: "", "memory, in files": copies("bare") },
    ],
  };
};
