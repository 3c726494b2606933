/** In milliseconds: when the command began, by `performance.now()`, and after how long its next line is due. */
const clock = { began: 0, next: 3_000 };

export const startClock = (began = performance.now()) => Object.assign(clock, { began, next: 3_000 });

/** Runs `work`, and prints its progress on stderr once the command has taken three seconds, then every ten seconds. */
export const withProgress = async <T>(
  work: () => Promise<T>,
  message: string | (() => string) = "Reading the table …",
): Promise<T> => {
  const timer = setInterval(() => {
    const elapsed = performance.now() - clock.began;
    if (elapsed < clock.next) return;
    clock.next = elapsed + 10_000;
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
