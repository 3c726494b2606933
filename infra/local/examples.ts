import type { Demo } from "./demo.ts";

/** The curl examples that `npm start` prints: each works when it is pasted, from any folder. */
export const examples = (url: string, { key, request, order }: Demo): string => `
Paste these:

  export KEY=${key}

  # upload a letter of authorization to a request
  printf '%%PDF-1.7 signed' > /tmp/loa.pdf
  curl -s ${url}/api/v1/requests/${request}/attachments \\
    -H "Authorization: Bearer $KEY" \\
    -F type=request_attachment -F 'data[name]=Letter of authorization' -F 'data[file_hint]=LOA' \\
    -F 'data[file]=@/tmp/loa.pdf;type=application/pdf'

  # list the request's attachments
  curl -s ${url}/api/v1/requests/${request}/attachments -H "Authorization: Bearer $KEY"

  # upload to the order: every request in it has it
  curl -s ${url}/api/v1/orders/${order}/attachments \\
    -H "Authorization: Bearer $KEY" -F 'data[name]=Terms' -F 'data[file]=@/tmp/loa.pdf'

In a browser: ${url}/docs
Operators: npm run admin -- --help     Stop: Ctrl-C
`;
