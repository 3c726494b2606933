import { vi } from "vitest";

/** Turns logging on and captures everything that is written to stdout and stderr. */
export const captureLogs = () => {
  const written: string[] = [];
  const capture = (chunk: unknown) => {
    written.push(String(chunk));
    return true;
  };
  const spies = [
    vi.spyOn(process.stdout, "write").mockImplementation(capture),
    vi.spyOn(process.stderr, "write").mockImplementation(capture),
    ...(["log", "info", "warn", "error", "debug"] as const).map((method) =>
      vi
        .spyOn(console, method)
        .mockImplementation((...all: unknown[]) => void capture(`${all.map(String).join(" ")}\n`)),
    ),
  ];
  process.env.LOG_LEVEL = "DEBUG";
  return {
    written,
    /** Fails if anything but the log was written. */
    lines: () => written.map((line) => JSON.parse(line)),
    stop: () => {
      process.env.LOG_LEVEL = "SILENT";
      for (const spy of spies) spy.mockRestore();
    },
  };
};
