import * as z from "zod/mini";
import { byOperation, type Operation, type PartKind, type Reads, type Row } from "../route.ts";
import { includeOf, PageQuery, padded, Uuid } from "../schema/fields.ts";
import type { ParentType } from "../table/keys.ts";
import {
  AttachmentChanges,
  immutableAttachmentProperties,
  NewAttachment,
  NewMetadata,
  UploadedFile,
  UploadFile,
} from "./attachment-schema.ts";

/**
 * The rows of attachments' endpoints in the route table. Each exists for a request and for an order. `contract.ts` has their texts
 * and examples.
 */

/** The permission that the parent requires, by the state of its order. */
export const parentPermissions = {
  request: { CART: "ordering_cart_requests:show", CHECKED_OUT: "ordering_requests:show" },
  order: { CART: "ordering_carts:show", CHECKED_OUT: "ordering_orders:show" },
} as const;

/** `/api/v1/<parent>s/{<parent>_id}/attachments`, followed by `/{attachment_id}` for operations on one attachment. */
const attachmentRoute = <P extends ParentType, O extends Operation, R extends Reads>(parent: P, row: Row<O, R>) => {
  const { method, status, verb, on } = byOperation[row.operation];
  const path = `/api/v1/${parent}s/{${parent}_id}/attachments${on === "item" ? "/{attachment_id}" : ""}`;
  return {
    ...row,
    name: `${parent}-attachments/${verb}`,
    handler: parent,
    method,
    path,
    parent,
    on,
    resource: `${parent}_attachment`,
    document: `${parent}_attachment`,
    permission: `ordering_${parent}_attachments:${row.operation}`,
    status,
  } as const;
};

const forParents = <R>(row: (parent: ParentType) => R) => ({ request: row("request"), order: row("order") });

const createAttachmentBody = <T extends string>(type: T) =>
  z.object({ type: z.optional(padded(z.literal(type))), data: NewAttachment });

/** A form's parts: `type`, `data[file]`, `data[name]` … */
const formParts = ({ shape }: ReturnType<typeof createAttachmentBody>): Record<string, PartKind> => {
  const data = Object.entries(shape.data.shape);
  const kinds = data.map(([name, field]) => [`data[${name}]`, field === UploadedFile ? "file" : "text"] as const);
  return { type: "text", ...Object.fromEntries(kinds) };
};

export const createAttachmentRoutes = forParents((parent) => {
  const schema = createAttachmentBody(`${parent}_attachment` as const);
  return attachmentRoute(parent, {
    operation: "create",
    file: "functions/attachments/create.ts",
    reads: { from: "form", schema, parts: formParts(schema) },
    grants: { table: ["PutItem", "UpdateItem"], files: ["PutObject", "DeleteObject"] },
  });
});

const ofRequest = includeOf("order", "file", "forwarding");

export const listAttachmentsRoutes = forParents((parent) => {
  // An order's list has no `forwarding`: receipts are stored by request, so it would take a read for each attachment and each request.
  const include = parent === "request" ? ofRequest : includeOf("file");
  const schema = z.object({ ...PageQuery.shape, reference_id: z.optional(Uuid), include });
  return attachmentRoute(parent, {
    operation: "index",
    file: "functions/attachments/list.ts",
    reads: { from: "query", schema },
    grants: { table: ["Query"], files: [] },
  });
});

export const showAttachmentRoutes = forParents((parent) =>
  attachmentRoute(parent, {
    operation: "show",
    file: "functions/attachments/show.ts",
    reads: {
      from: "query",
      schema: z.object({ include: parent === "request" ? ofRequest : includeOf("file", "forwarding") }),
    },
    // `forwarding` is stored by request, so the function queries the order's requests.
    grants: { table: parent === "order" ? ["Query"] : [], files: [] },
  }),
);

export const updateAttachmentRoutes = forParents((parent) =>
  attachmentRoute(parent, {
    operation: "update",
    file: "functions/attachments/update.ts",
    reads: {
      from: "json",
      schema: z.object({ type: padded(z.literal(`${parent}_attachment` as const)), data: AttachmentChanges }),
      immutable: immutableAttachmentProperties,
    },
    grants: { table: ["PutItem", "UpdateItem"], files: [] },
  }),
);

export const deleteAttachmentRoutes = forParents((parent) =>
  attachmentRoute(parent, {
    operation: "delete",
    file: "functions/attachments/delete.ts",
    reads: { from: "nothing", schema: z.undefined() },
    grants: { table: ["PutItem", "UpdateItem", "DeleteItem"], files: ["DeleteObject"] },
  }),
);

const NewUploadDocument = z.object({ type: padded(z.literal("upload")), data: UploadFile });

/** The first call of a direct upload. A signed URL has the permissions of its signer, so the function needs PutObject. */
export const createUploadRoutes = forParents(
  (parent) =>
    ({
      ...attachmentRoute(parent, {
        operation: "create",
        file: "functions/attachments/create-upload.ts",
        reads: { from: "json", schema: NewUploadDocument },
        grants: { table: ["PutItem"], files: ["PutObject"] },
      }),
      name: `${parent}-attachments/create-upload`,
      path: `/api/v1/${parent}s/{${parent}_id}/uploads`,
      document: "upload",
    }) as const,
);

/** The third call of a direct upload, which creates the attachment. It reads both ends of the file. */
export const completeUploadRoutes = forParents(
  (parent) =>
    ({
      ...attachmentRoute(parent, {
        operation: "create",
        file: "functions/attachments/complete-upload.ts",
        reads: {
          from: "json",
          schema: z.object({ type: padded(z.literal(`${parent}_attachment` as const)), data: NewMetadata }),
        },
        grants: { table: ["PutItem", "UpdateItem"], files: ["GetObject"] },
      }),
      name: `${parent}-attachments/complete-upload`,
      path: `/api/v1/${parent}s/{${parent}_id}/uploads/{upload_id}/complete`,
      on: "upload",
    }) as const,
);
