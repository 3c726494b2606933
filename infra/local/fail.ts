/** Prints the error and exits. The embedded services stop with this process. */
export const fail = (error: unknown): never => {
  const message = error instanceof Error ? error.message : String(error);
  const inUse = error instanceof Error && "code" in error && error.code === "EADDRINUSE" && "port" in error;
  console.error(inUse ? `Port ${error.port} is in use: set PORT to another port, or to 0 for any free port.` : message);
  process.exit(1);
};
