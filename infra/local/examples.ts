import { createHash } from "node:crypto";
import type { Demo } from "./demo.ts";

/** A file that is too large for a form, and that a reader can create with `head`. */
const content = Buffer.alloc(5_000_000);
const digest = createHash("sha256").update(content).digest();
const checksum = digest.toString("base64");
const large = {
  filename: "scan.bin",
  content_type: "application/octet-stream",
  bytes: content.length,
  sha256: digest.toString("hex"),
};

/** The curl examples that `npm start` prints. Each works when pasted, in any folder. */
export const examples = (url: string, { key, request, order }: Demo): string => `
Paste these:

  export KEY=${key}

  # upload a letter of authorization to a request
  printf '%%PDF-1.7 signed' > /tmp/loa.pdf
  curl -sw '\\n' ${url}/api/v1/requests/${request}/attachments \\
    -H "Authorization: Bearer $KEY" \\
    -F type=request_attachment -F 'data[name]=Letter of authorization' -F 'data[file_hint]=LOA' \\
    -F 'data[file]=@/tmp/loa.pdf;type=application/pdf'

  # list the request's attachments
  curl -sw '\\n' ${url}/api/v1/requests/${request}/attachments -H "Authorization: Bearer $KEY"

  # upload to the order: the attachment applies to every request in it
  curl -sw '\\n' ${url}/api/v1/orders/${order}/attachments \\
    -H "Authorization: Bearer $KEY" -F 'data[name]=Terms' -F 'data[file]=@/tmp/loa.pdf'

  # a file that is too large for a form: prepare an upload, send the file to storage, complete the upload
  head -c ${large.bytes} /dev/zero > /tmp/scan.bin
  UPLOAD=$(curl -s ${url}/api/v1/requests/${request}/uploads -H "Authorization: Bearer $KEY" \\
    -H 'Content-Type: application/json' -d '${JSON.stringify({ type: "upload", data: large })}')
  curl -s -T /tmp/scan.bin -H 'Content-Type: ${large.content_type}' -H 'x-amz-checksum-sha256: ${checksum}' \\
    -H 'If-None-Match: *' \\
    "$(node -pe 'JSON.parse(process.argv[1]).data.url' "$UPLOAD")"
  curl -sw '\\n' ${url}/api/v1/requests/${request}/uploads/$(node -pe 'JSON.parse(process.argv[1]).data.id' "$UPLOAD")/complete \\
    -H "Authorization: Bearer $KEY" -H 'Content-Type: application/json' \\
    -d '{"type": "request_attachment", "data": {"name": "Scan"}}'

In a browser: ${url}/docs
Operators: ./patchbay --help     Stop: Ctrl-C
`;
