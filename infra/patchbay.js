/** The entry point of `./patchbay`. As plain JavaScript, it can check Node's version before any TypeScript is loaded. */
import "./node.js";

await import("./patchbay.ts");
