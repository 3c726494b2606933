/** Throws 412 unless a document of this version is what the caller's If-Match asks for. */
export type Precondition = (version: number) => void;

type Versioned = { readonly version: number };

/**
 * Tries a write that holds only for the version that was read; where another was faster, reads again and tries anew.
 * `write` answers undefined where its version is out of date; `reread` throws where there is nothing any more.
 */
export const onLatest = async <T extends Versioned>(
  current: T,
  precondition: Precondition,
  reread: () => Promise<T>,
  write: (latest: T) => Promise<T | undefined>,
): Promise<T> => {
  for (let latest = current; ; latest = await reread()) {
    precondition(latest.version);
    const written = await write(latest);
    if (written) return written;
  }
};
