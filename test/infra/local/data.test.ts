import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { DynamoDBClient, GetItemCommand } from "@aws-sdk/client-dynamodb";
import { marshall } from "@aws-sdk/util-dynamodb";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { keys } from "../../../shared/table/keys.ts";
import { form } from "../../support/fixtures/attachments.ts";
import { createdAccounts, readEvents } from "../../support/fixtures/local-events.ts";
import { sha256Of } from "../../support/fixtures/upload-content.ts";
import { type LocalService, localServices } from "../../support/processes/local-service.ts";
import { exhaustive } from "../../support/setup/extent.ts";

let services: ReturnType<typeof localServices>;
beforeEach(() => {
  services = localServices();
});
afterEach(() => services.remove());

/** Bytes that are not valid text. */
const content = Uint8Array.from({ length: 100_000 }, (_, n) => (n * 7) % 256);

const uploadTwo = async (service: LocalService) => {
  const file = new File([content], "loa.pdf", { type: "application/pdf" });
  for (const path of [service.attachments, `/orders/${service.demo.ORDER}/attachments`])
    expect((await service.call("POST", path, form({}, file))).status).toBe(201);
};

/** The day of the table's first sweep, which limits the days whose files an operator's sweep may remove. */
const firstSweepDay = async ({ environment }: LocalService) => {
  const client = new DynamoDBClient({ endpoint: environment.AWS_ENDPOINT_URL_DYNAMODB ?? "" });
  const key = new GetItemCommand({ TableName: environment.TABLE_NAME, Key: marshall(keys.sweep()) });
  return (await client.send(key)).Item?.first_on?.S;
};

const expectWhole = async (service: LocalService) => {
  expect(await (await service.call("GET", service.attachments)).text()).toContain('"total":1}');
  expect([...(await service.files()).values()]).toEqual([sha256Of(content), sha256Of(content)]);
  expect((await service.admin("check")).stdout).toBe("No problems found.\n");
};

const checkOut = async (service: LocalService) => {
  const { stdout, code } = await service.admin("order", "checkout", service.demo.ORDER ?? "", "--wait");
  expect([code, stdout]).toEqual([0, expect.stringContaining("SUCCEEDED")]);
  // The file of the request, and the file of the order for each of its two requests.
  const file = { bytes: 100_000, sha256: sha256Of(content), received: 1 };
  expect(await service.cart()).toMatchObject({ checked_out: true, attachments: [file, file, file] });
};

/** SQLite's plan for the query with which dynoxide finds the number of the stream's next record. */
const planForNewRecord = (): unknown => {
  const database = new DatabaseSync(join(services.data, "table.db"), { readOnly: true });
  const query = "SELECT MAX(CAST(sequence_number AS INTEGER)) FROM _stream_records WHERE table_name = 'patchbay'";
  const plan = database.prepare(`EXPLAIN QUERY PLAN ${query}`).get();
  database.close();
  return plan?.detail;
};

const patiently = { timeout: 20_000, interval: 50 };
const ends = ["stop", "kill"] as const;

describe("./patchbay start --data", () => {
  it.runIf(exhaustive).each(ends)(
    "has the same bytes and events after a %s, loses no event, and checks the order out",
    async (end) => {
      const first = await services.start();
      expect(await firstSweepDay(first)).toMatch(/^\d{4}-\d\d-\d\d$/);
      await uploadTwo(first);
      const uploaded = () => readEvents(first, "?type=request_attachment.created");
      await vi.waitUntil(async () => (await uploaded()).length > 0, patiently);
      const before = await readEvents(first);
      const accounts = await createdAccounts(first, 30);
      await first[end]();
      expect(planForNewRecord()).toContain("USING COVERING INDEX");
      const second = await services.start();
      expect(second.demo).toEqual(first.demo);
      const last = `?after=${before.at(-1)?.detail.id}&type=account.created`;
      const idsAfter = async () => (await readEvents(second, last)).map(({ detail }) => detail.resource.id);
      await vi.waitUntil(async () => (await idsAfter()).length >= 30, patiently);
      expect([...new Set(await idsAfter())].sort()).toEqual([...accounts].sort());
      expect((await readEvents(second)).slice(0, before.length)).toEqual(before);
      await expectWhole(second);
      await checkOut(second);
    },
  );
});
