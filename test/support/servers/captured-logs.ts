import { vi } from "vitest";

/** Lets the service log, and keeps all that it writes to its outputs. */
export const captureLogs = () => {
  const written: string[] = [];
  const hear = (chunk: unknown) => {
    written.push(String(chunk));
    return true;
  };
  const spies = [
    vi.spyOn(process.stdout, "write").mockImplementation(hear),
    vi.spyOn(process.stderr, "write").mockImplementation(hear),
    ...(["log", "info", "warn", "error", "debug"] as const).map((method) =>
      vi.spyOn(console, method).mockImplementation((...all: unknown[]) => void hear(`${all.map(String).join(" ")}\n`)),
    ),
  ];
  process.env.LOG_LEVEL = "DEBUG";
  return {
    written,
    stop: () => {
      process.env.LOG_LEVEL = "SILENT";
      for (const spy of spies) spy.mockRestore();
    },
  };
};
