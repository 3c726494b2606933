import { createHash } from "node:crypto";
import { apply } from "../../shared/apply.ts";
import { createAttachment } from "../../shared/attachments.ts";
import { bounded } from "../../shared/bounded.ts";
import { readParent } from "../../shared/orders.ts";
import { add } from "./orders.ts";

export type Size = { readonly requests: number; readonly attachments: number; readonly fileBytes: number };

/** A file that is like no other. */
const fileOf = (bytes: number, seed: string) => {
  const content = Buffer.alloc(bytes, createHash("sha512").update(seed).digest());
  const sha256 = createHash("sha256").update(content).digest("hex");
  return { content, sha256, filename: "loa.pdf", contentType: "application/pdf" };
};

/**
 * An order of so many requests, each with so many attachments: the last of them is the order's, which is forwarded under
 * each request. Its id, and what the carrier must have in the end, each as "request attachment bytes sha256", sorted.
 */
export const largeOrder = async ({ requests, attachments, fileBytes }: Size) => {
  const made = await apply({
    accounts: { acme: { name: "Acme" } },
    orders: { order: { account: "acme" } },
    requests: Object.fromEntries(
      Array.from({ length: requests }, (_, index) => [`r${index}`, { order: "order", type: add }]),
    ),
  });
  const id = made.orders.order?.id ?? "";
  const ids = Object.values(made.requests).map((request) => request.id);
  const attach = async (ref: { type: "order" | "request"; id: string }, nth: number) => {
    const parent = await readParent(ref);
    if (!parent) throw new Error(`There is no ${ref.type} ${ref.id}.`);
    const file = fileOf(fileBytes, `${ref.id} ${nth}`);
    const metadata = { name: "LOA", notes: null, file_hint: "LOA", reference_id: null } as const;
    const { attachment } = await createAttachment(parent, { ...metadata, file }, new Date(), undefined);
    return `${attachment.id} ${attachment.bytes} ${attachment.sha256}`;
  };
  const shared = await attach({ type: "order", id }, 0);
  const expected = ids.map((request) => `${request} ${shared}`);
  await bounded(8, ids, async (request) => {
    for (let nth = 1; nth < attachments; nth += 1)
      expected.push(`${request} ${await attach({ type: "request", id: request }, nth)}`);
  });
  return { id, expected: expected.sort() };
};
