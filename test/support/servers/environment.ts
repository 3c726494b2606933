import { inject } from "vitest";

declare global {
  var environmentBeforeTests: NodeJS.ProcessEnv | undefined;
}

// Files take turns in one process: what one has set, the next one does not see.
globalThis.environmentBeforeTests ??= { ...process.env };
for (const name of Object.keys(process.env)) delete process.env[name];
Object.assign(process.env, globalThis.environmentBeforeTests, inject("environment"));
if (process.env.CPU_LOG) {
  const { appendFileSync } = await import("node:fs");
  const { afterAll, expect } = await import("vitest");
  const t0 = performance.now();
  const c0 = process.cpuUsage();
  const first = !Object.hasOwn(globalThis, "seenFile");
  Object.assign(globalThis, { seenFile: true });
  afterAll(() => {
    const c = first ? process.cpuUsage() : process.cpuUsage(c0);
    appendFileSync(process.env.CPU_LOG ?? "", `${((c.user + c.system) / 1e6).toFixed(1)} ${((performance.now() - t0) / 1000).toFixed(1)} ${process.pid} ${expect.getState().testPath}\n`);
  });
}
