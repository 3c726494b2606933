/**
 * Runs `work` for each item, at most `concurrency` at a time. After the first error, starts no more items, waits until the running
 * ones have finished, and throws the error. So nothing runs on in the background.
 */
export const forEachConcurrently = async <T>(
  concurrency: number,
  items: Iterable<T> | AsyncIterable<T>,
  work: (item: T) => Promise<void>,
): Promise<void> => {
  // One queue for all workers. It ends as soon as one of them throws.
  const queue = (async function* () {
    yield* items;
  })();
  let hasFailed = false;
  const worker = async () => {
    for await (const item of queue) {
      if (hasFailed) return;
      await work(item).catch((error: unknown) => {
        hasFailed = true;
        throw error;
      });
    }
  };
  const ends = await Promise.allSettled(Array.from({ length: concurrency }, worker));
  for (const end of ends) if (end.status === "rejected") throw end.reason;
};
