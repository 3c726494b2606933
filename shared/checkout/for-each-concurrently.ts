/**
 * Runs `work` for each item, at most `concurrency` at a time. After the first error, no more items are started. The error is
 * thrown when the running ones have finished, so nothing runs on in the background.
 */
export const forEachConcurrently = async <T>(
  concurrency: number,
  items: Iterable<T>,
  work: (item: T) => Promise<void>,
): Promise<void> => {
  const queue = items[Symbol.iterator]();
  const errors: unknown[] = [];
  const worker = async () => {
    for (let next = queue.next(); !next.done && errors.length === 0; next = queue.next())
      await work(next.value).catch((error: unknown) => errors.push(error));
  };
  await Promise.all(Array.from({ length: concurrency }, worker));
  if (errors.length > 0) throw errors[0];
};
