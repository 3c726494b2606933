import * as z from "zod/mini";
import { Attachment, Upload } from "../../../shared/attachments/attachment-schema.ts";
import { CheckoutRun, Receipt, Sealed } from "../../../shared/checkout/checkout-schema.ts";
import { StoredEvent } from "../../../shared/history/event.ts";
import { LateChange } from "../../../shared/history/record.ts";
import { Switch } from "../../../shared/switches/switch-schema.ts";
import { Account, ApiKey, Order, OrderRequest, Request, User } from "../../../shared/tenants/tenant-schema.ts";
import { type Check, keyText, type StoredItem, violation } from "./check-finding.ts";

/** The schemas of items, by partition and sort key. */
const schemas: readonly (readonly [pattern: RegExp, schema: z.core.$ZodType])[] = [
  [/ EVENT#/, StoredEvent],
  [/^ACCOUNT#\S+ ACCOUNT$/, Account],
  [/^USER#\S+ USER$/, User],
  [/^KEY#\S+ KEY$/, ApiKey],
  [/^SWITCH#\S+ SWITCH$/, Switch],
  [/^(ORDER#\S+) \1$/, z.extend(Order, Sealed.shape)],
  [/^(REQUEST#\S+) \1$/, Request],
  [/^ORDER#\S+ REQUEST#/, OrderRequest],
  [/^ORDER#\S+ CHECKOUT$/, CheckoutRun],
  [/^(ORDER|REQUEST)#\S+ ATTACHMENT#/, Attachment],
  [/^(ORDER|REQUEST)#\S+ UPLOAD#/, Upload],
  [/^REQUEST#\S+ RECEIPT#/, Receipt],
  [/^LATE_CHANGES /, LateChange],
];

/** An item that cannot be read is damaged, or was written by a newer release. */
export function* readableChecks(item: StoredItem): Generator<Check> {
  const found = schemas.find(([pattern]) => pattern.test(`${item.pk} ${item.sk}`));
  const { error } = found ? z.safeParse(found[1], item) : {};
  if (!error) return;
  const problems = error.issues.map(({ path, code }) => `${path.join(".")} ${code}`).join(", ");
  yield async () => [
    violation("an item can be read", keyText(item), `${problems}: it is damaged, or a newer release has written it`),
  ];
}
