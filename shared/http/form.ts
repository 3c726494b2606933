import { createHash } from "node:crypto";
import { Busboy, type BusboyFileStream } from "@fastify/busboy";
import type { APIGatewayProxyEvent } from "aws-lambda";
import type { UploadedFile } from "../attachments/schema.ts";
import { env } from "../env.ts";
import { type Fault, malformed, payloadTooLarge, unsupportedMediaType } from "../errors.ts";
import { cleanFilename, cleanMediaType } from "./file-names.ts";
import { header } from "./request.ts";

/** Beyond these a form is refused: more than enough for every part that the interface knows, and for some that it does not. */
const limits = { parts: 100, fieldSize: 64 * 1024, headerPairs: 20, headerSize: 16 * 1024 };

type Part = string | UploadedFile;

const known = /^(?:type|data\[(?:file|name|notes|file_hint|reference_id|filename)\])$/;

// A plain field `data[file]` is not a file: who sends the text "loa.pdf" has forgotten curl's @, and must hear of it.
const isPartAFile = (name?: string, contentType?: string, filename?: string) =>
  name === "data[file]" || !known.test(name ?? "") ? filename !== undefined || contentType !== "text/plain" : false;

/**
 * Reads a multipart/form-data body (RFC 7578) into `{type, data: {...}}`, unknown parts left out, each part given more
 * than once a fault. 415 for another media type, 413 for a file over the limit, 422 for a form that cannot be read.
 */
export const readForm = async (event: APIGatewayProxyEvent): Promise<{ input: unknown; faults: Fault[] }> => {
  const contentType = header(event, "Content-Type") ?? "";
  if (!/^multipart\/form-data\s*(;|$)/i.test(contentType)) throw unsupportedMediaType("multipart/form-data");
  const body = Buffer.from(event.body ?? "", event.isBase64Encoded ? "base64" : "utf8");
  const parts = await readParts(contentType, body);
  const data = new Map<string, Part>();
  const faults: Fault[] = [];
  let type: Part | undefined;
  for (const [name, [part, second]] of parts) {
    const property = /^data\[(.+)\]$/.exec(name)?.[1];
    if (property === undefined) type = part;
    else if (part !== undefined) data.set(property, part);
    const pointer = property === undefined ? "/type" : `/data/${property}`;
    if (second !== undefined)
      faults.push({ in: "body", pointer, sub_code: "constraint.type", detail: "must be given only once" });
  }
  return { input: { type, data: Object.fromEntries(data) }, faults };
};

const readParts = (contentType: string, body: Buffer): Promise<Map<string, Part[]>> =>
  new Promise((resolve, reject) => {
    const parts = new Map<string, Part[]>();
    const keep = (name: string, part: Part) => {
      if (known.test(name)) parts.set(name, [...(parts.get(name) ?? []), part]);
    };
    const unreadable = (error: unknown) => reject(malformed(`can't be read as a form: ${messageOf(error)}`));
    const fileSize = env.maxFileBytes();
    try {
      const form = new Busboy({
        headers: { "content-type": contentType },
        isPartAFile,
        preservePath: true,
        // The body is in memory: no part needs to wait. Busboy would wait for ever with one that has no headers.
        fileHwm: body.length + 1,
        limits: { ...limits, fileSize },
      });
      form.on("field", keep);
      form.on("file", (name, stream, filename, _encoding, mediaType) => {
        stream.once("error", unreadable);
        if (!known.test(name)) return void stream.resume();
        stream.once("limit", () => reject(payloadTooLarge(fileSize)));
        collect(stream, (content) => keep(name, uploadedFile(content, filename, mediaType)));
      });
      form.once("partsLimit", () => unreadable(`it has more than ${limits.parts} parts`));
      form.once("error", unreadable);
      form.once("finish", () => resolve(parts));
      form.end(body);
    } catch (error) {
      unreadable(error);
    }
  });

const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error));

const uploadedFile = (content: Buffer, filename: string, mediaType: string): UploadedFile => ({
  // The same bytes as a plain Uint8Array: a Buffer would turn itself into JSON, number by number.
  content: new Uint8Array(content.buffer, content.byteOffset, content.length),
  sha256: createHash("sha256").update(content).digest("hex"),
  filename: cleanFilename(filename),
  contentType: cleanMediaType(mediaType),
});

/** A file that came in one piece is not copied. */
const collect = (stream: BusboyFileStream, done: (content: Buffer) => void) => {
  const chunks: Buffer[] = [];
  stream.on("data", (chunk: Buffer) => chunks.push(chunk));
  stream.once("end", () => done(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks)));
};
