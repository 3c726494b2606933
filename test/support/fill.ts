import { BatchWriteCommand } from "@aws-sdk/lib-dynamodb";
import { ulid } from "ulid";
import { bounded } from "../../shared/bounded.ts";
import { env } from "../../shared/env.ts";
import type { Attachment } from "../../shared/schemas/attachment.ts";
import { type Switch, switchDefaults } from "../../shared/schemas/switch.ts";
import { client } from "../../shared/table/client.ts";
import type { Item } from "../../shared/table/expressions.ts";
import { keys, type ParentRef } from "../../shared/table/keys.ts";
import { update } from "../../shared/table/write.ts";

/** Many items at once, written past the API: for measuring what does not grow with them. */

const batches = (items: readonly Item[], size = 25): Item[][] =>
  Array.from({ length: Math.ceil(items.length / size) }, (_, index) => items.slice(index * size, (index + 1) * size));

const writeAll = (items: readonly Item[]) =>
  bounded(8, batches(items), async (batch) => {
    const requests = batch.map((item) => ({ PutRequest: { Item: item } }));
    await client.send(new BatchWriteCommand({ RequestItems: { [env.tableName()]: requests } }));
  });

const times = { inserted_at: "2026-01-01T00:00:00.000Z", updated_at: "2026-01-01T00:00:00.000Z" };

/** Gives a parent `count` attachments, without files. */
export const fillAttachments = async (parent: ParentRef, count: number): Promise<void> => {
  const attachment = (): Attachment => ({
    ...{ id: ulid(), name: "LOA", notes: null, file_hint: "LOA", reference_id: null, filename: "loa.pdf", ...times },
    ...{ version: 1, bytes: 15, sha256: "0".repeat(64), content_type: "application/pdf" },
  });
  const items = Array.from({ length: count }, attachment);
  await writeAll(items.map((item) => ({ ...keys.attachment(parent, item.id), ...item })));
  await update({ update: keys.parent(parent), add: { attachment_count: count }, when: { exists: true } });
};

/** Gives `accounts` (each with its ancestors) `count` switches between them, in every list that they belong to. */
export const fillSwitches = async (
  accounts: readonly { readonly id: string; readonly ancestors: readonly string[] }[],
  count: number,
): Promise<void> => {
  const totals = new Map<string, number>();
  const items = Array.from({ length: count }, (_, index) => {
    const { id: account, ancestors } = accounts[index % accounts.length] ?? { id: "", ancestors: [] };
    const id = ulid();
    const one: Switch = {
      ...{ id, name: `Filled ${id}`, ...switchDefaults, sms_endpoints: [], mms_endpoints: [], ...times },
      ...{ account, ancestors: [...ancestors], version: 1 },
    };
    const tree = [...ancestors, account];
    for (const each of tree) totals.set(each, (totals.get(each) ?? 0) + 1);
    return [{ ...keys.switch(id), ...one }, ...tree.map((each) => ({ ...keys.switchEntry(each, id), id }))];
  });
  await writeAll(items.flat());
  for (const [account, total] of totals)
    await update({ update: keys.account(account), add: { switch_count: total }, when: { exists: true } });
};
