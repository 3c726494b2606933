import { createHash } from "node:crypto";
import { Readable } from "node:stream";
import type { SentMetadata } from "../attachments/attachment-schema.ts";

/** A body that is created while it is sent. `failure` returns the error that interrupted it, if any. */
export type StreamedBody = {
  readonly headers: Readonly<Record<string, string>>;
  /** `signal` ends the call, and with it a read of the file that has stalled. */
  readonly chunks: (signal: AbortSignal) => AsyncGenerator<Uint8Array>;
  readonly failure: () => Error | undefined;
};

/** A file cannot be sent, because it is missing or is not the one that was uploaded. */
export class FileError extends Error {
  override readonly name = "FileError";
  readonly gone: boolean;

  constructor(message: string, { gone = false } = {}) {
    super(message);
    this.gone = gone;
  }
}

export type FilePart = {
  readonly sent: SentMetadata;
  readonly contentType: string;
  readonly bytes: number;
  readonly sha256: string;
  readonly open: () => Promise<AsyncIterable<Uint8Array> | undefined>;
};

/** Escapes names in a multipart header as browsers do. Source: https://html.spec.whatwg.org/#multipart-form-data */
const escapeName = (name: string) => name.replaceAll('"', "%22").replaceAll("\r", "%0D").replaceAll("\n", "%0A");

/**
 * A multipart body with two parts, `metadata` (JSON) and `file`, which is streamed from S3 to the carrier. The end is sent only
 * if length and SHA-256 are those of the upload. Otherwise, the body is incomplete and the carrier cannot accept it.
 */
export const filePartBody = (boundary: string, metadata: object, { sent, open, ...file }: FilePart): StreamedBody => {
  const head = Buffer.from(
    `--${boundary}\r\nContent-Disposition: form-data; name="metadata"\r\nContent-Type: application/json\r\n\r\n` +
      `${JSON.stringify(metadata)}\r\n--${boundary}\r\n` +
      `Content-Disposition: form-data; name="file"; filename="${escapeName(sent.filename)}"\r\n` +
      `Content-Type: ${file.contentType}\r\n\r\n`,
  );
  const tail = Buffer.from(`\r\n--${boundary}--\r\n`);
  let failure: Error | undefined;
  return {
    headers: {
      "Content-Type": `multipart/form-data; boundary=${boundary}`,
      "Content-Length": String(head.length + file.bytes + tail.length),
    },
    failure: () => failure,
    async *chunks(signal) {
      const openUntilAborted = async () => {
        const stream = await open();
        const close = () => void (stream instanceof Readable && stream.destroy());
        signal.addEventListener("abort", close);
        if (signal.aborted) close();
        return stream;
      };
      yield head;
      try {
        yield* verified(file, openUntilAborted);
      } catch (error) {
        // The end of the call is not the fault of the file.
        if (!signal.aborted)
          failure = error instanceof Error ? error : new Error("The file could not be read.", { cause: error });
        throw error;
      }
      yield tail;
    },
  };
};

/** Yields the file's bytes. Throws before the last chunk if they are not the ones that were uploaded. */
export async function* verified(
  { bytes, sha256 }: Pick<FilePart, "bytes" | "sha256">,
  open: FilePart["open"],
): AsyncGenerator<Uint8Array> {
  const file = await open();
  if (!file) throw new FileError("its file is missing from storage", { gone: true });
  const hash = createHash("sha256");
  let length = 0;
  let pending: Uint8Array | undefined;
  for await (const chunk of file) {
    length += chunk.length;
    hash.update(chunk);
    if (length > bytes) throw new FileError("its stored file is longer than the one uploaded");
    if (pending) yield pending;
    pending = chunk;
  }
  if (hash.digest("hex") !== sha256) throw new FileError("its stored file is not the one uploaded");
  if (pending) yield pending;
}
