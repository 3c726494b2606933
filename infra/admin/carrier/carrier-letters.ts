import { createHash } from "node:crypto";
import type { SentMetadata } from "../../../shared/attachments/attachment-schema.ts";

/** The letters that `carrier check` sends. */
export type Letter = {
  readonly request: string;
  readonly id: string;
  readonly sent: SentMetadata;
  readonly contentType: string;
  readonly content: Buffer;
  readonly sha256: string;
  /** What the metadata say instead of `sha256`. */
  readonly declared?: string;
  /** The idempotency key of its PUT. */
  readonly key: string;
};

export type NewLetter = Pick<Letter, "request" | "id"> & {
  readonly content?: Buffer;
  readonly sent?: Partial<SentMetadata>;
  readonly version?: number;
};

const pdfObjects = [
  "<</Type/Catalog/Pages 2 0 R>>",
  "<</Type/Pages/Kids[3 0 R]/Count 1>>",
  "<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>",
  "<</Length 49>>stream\nBT /F1 24 Tf 72 760 Td (patchbay carrier check) Tj ET\nendstream",
  "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
] as const;

/** A valid PDF, because carriers may refuse anything else. A stream of zeros fills it up to that many bytes. */
export const pdf = (bytes = 0): Buffer => {
  const withPadding = (length: number) => {
    const objects = [...pdfObjects, `<</Length ${length}>>stream\n${"0".repeat(length)}\nendstream`];
    let text = "%PDF-1.7\n";
    const offsets = objects.map((object, index) => {
      const offset = text.length;
      text += `${index + 1} 0 obj${object}endobj\n`;
      return `${String(offset).padStart(10, "0")} 00000 n \n`;
    });
    const table = `xref\n0 ${offsets.length + 1}\n0000000000 65535 f \n${offsets.join("")}`;
    return `${text}${table}trailer<</Size ${offsets.length + 1}/Root 1 0 R>>\nstartxref\n${text.length}\n%%EOF\n`;
  };
  // A longer padding has more digits in its length and in the offsets.
  let padding = Math.max(0, bytes - withPadding(0).length);
  while (padding > 0 && withPadding(padding).length > bytes) padding -= withPadding(padding).length - bytes;
  return Buffer.from(withPadding(padding), "latin1");
};

const smallPdf = pdf();

export const letter = ({ request, id, content = smallPdf, sent = {}, version = 1 }: NewLetter): Letter => ({
  request,
  id,
  sent: { name: `Test letter, version ${version}`, notes: null, file_hint: "LOA", filename: "letter.pdf", ...sent },
  contentType: content.length > 1 ? "application/pdf" : "text/plain",
  content,
  sha256: createHash("sha256").update(content).digest("hex"),
  key: `forward-${request}-${id}-${version}`,
});

export const metadataOf = ({ request, id, sent, contentType, content, sha256, declared }: Letter) => ({
  id,
  request_id: request,
  ...sent,
  content_type: contentType,
  bytes: content.length,
  sha256: declared ?? sha256,
});

/** Texts that break where names are cut at quotes, decoded twice, or stored in another encoding. */
export const difficultNames = {
  name: 'Vollmacht "Müller & Söhne" – 委任状 🖋',
  notes: "Line 1\nline 2\twith a tab, a \\ and 'quotes'",
  filename: "L\"O'A; filename=x.pdf 100%25 – 委任状.pdf",
} as const;
