/**
 * Does `work` for each item, at most `width` at a time, in order of their start. The first error ends it: nothing more is
 * begun, and it is thrown once what had begun has ended, so that nothing is left at work behind the caller's back.
 */
export const bounded = async <T>(
  width: number,
  items: Iterable<T>,
  work: (item: T) => Promise<void>,
): Promise<void> => {
  const queue = items[Symbol.iterator]();
  const errors: unknown[] = [];
  const worker = async () => {
    for (let next = queue.next(); !next.done && errors.length === 0; next = queue.next())
      await work(next.value).catch((error: unknown) => errors.push(error));
  };
  await Promise.all(Array.from({ length: width }, worker));
  if (errors.length > 0) throw errors[0];
};
