/** Runs `work`. Prints its progress on stderr once it has taken three seconds, then every ten seconds. */
export const withProgress = async <T>(
  work: () => Promise<T>,
  message: string | (() => string) = "Reading the table …",
): Promise<T> => {
  const began = performance.now();
  let next = 3_000;
  const timer = setInterval(() => {
    const elapsed = performance.now() - began;
    if (elapsed < next) return;
    next = elapsed + 10_000;
    console.error(`${typeof message === "string" ? message : message()}, ${Math.round(elapsed / 1000)} s`);
  }, 250);
  try {
    return await work();
  } finally {
    clearInterval(timer);
  }
};

/** `12,345` */
export const formatCount = (value: number): string => value.toLocaleString("en-US");
