import * as z from "zod/mini";
import { AttachmentData } from "../../shared/schemas/attachment.ts";
import { type Answered, call } from "./client.ts";

const Envelope = z.object({ type: z.string(), data: AttachmentData });
const List = z.object({
  type: z.literal("list"),
  data: z.object({
    items: z.array(Envelope),
    page_info: z.object({
      after: z.nullable(z.string()),
      before: z.nullable(z.string()),
      limit: z.number(),
      total: z.number(),
    }),
  }),
});

/** The attachment in an answer. */
export const attachmentOf = ({ body }: Answered) => z.parse(Envelope, body).data;

/** The ids and the page_info of a list. */
export const pageOf = ({ body }: Answered) => {
  const { items, page_info } = z.parse(List, body).data;
  return { ids: items.map(({ data }) => data.id), ...page_info };
};

/** An upload's form: a small PDF called LOA unless told otherwise; undefined leaves a part out. */
export const form = (parts: Record<string, string | undefined> = {}, file: File | null = pdf()) => {
  const body = new FormData();
  for (const [name, value] of Object.entries({ "data[name]": "LOA", ...parts }))
    if (value !== undefined) body.append(name, value);
  if (file) body.append("data[file]", file);
  return body;
};

export const pdf = (name = "loa.pdf", content = "%PDF-1.7 signed") =>
  new File([content], name, { type: "application/pdf" });

/** Uploads and insists on 201. */
export const upload = async (path: string, key: string, parts: Record<string, string | undefined> = {}) => {
  const answer = await call("POST", path, { key, body: form(parts) });
  if (answer.status !== 201) throw new Error(`upload: ${answer.status} ${answer.text}`);
  return attachmentOf(answer);
};

/** A hand-made multipart body, for what no FormData can say. */
export const rawForm = (...parts: (readonly [headers: string, content: string | Uint8Array])[]) => {
  const boundary = "----patchbay";
  const chunks = parts.flatMap(([headers, content]) => [`--${boundary}\r\n${headers}\r\n\r\n`, content, "\r\n"]);
  const body = Buffer.concat([...chunks, `--${boundary}--\r\n`].map((chunk) => Buffer.from(chunk)));
  return { body, headers: { "content-type": `multipart/form-data; boundary=${boundary}` } };
};
