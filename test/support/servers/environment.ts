import { expect, inject } from "vitest";

// The tests of faults spoil their calls, count their items and move their clock: on a stack of their own.
if (/[\\/]test[\\/]faults[\\/]/.test(expect.getState().testPath ?? "")) await import("./own-stack.ts");
else Object.assign(process.env, inject("environment"));
