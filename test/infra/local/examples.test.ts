import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { expect, inject, it } from "vitest";
import { examples } from "../../../infra/local/examples.ts";
import { pageOf } from "../../support/fixtures/attachments.ts";
import { tenants } from "../../support/fixtures/tenants.ts";
import { call } from "../../support/requests/client.ts";

it("the printed examples work in a shell, including the direct upload", async () => {
  const t = await tenants();
  const [key, request, order] = [t.key("acme"), t.request("acme"), t.order("acme")];
  const folder = mkdtempSync(join(tmpdir(), "patchbay-examples-"));
  const printed = examples(inject("baseUrl"), { key, request, order, account: "", subAccount: "", subAccountKey: "" });
  const script = printed
    .slice(printed.indexOf("export KEY"), printed.indexOf("In a browser"))
    .replaceAll("/tmp/", `${folder}/`);
  const PATH = [dirname(process.execPath), process.env.PATH].join(":");
  const { stdout } = await promisify(execFile)("bash", ["-e", "-c", script], { env: { PATH } });
  rmSync(folder, { recursive: true });
  expect(stdout).not.toContain('"errors"');
  expect(stdout).toContain('"name":"Scan"');
  expect(pageOf(await call("GET", t.attachments("request", "acme"), { key })).total).toBe(2);
  expect(pageOf(await call("GET", t.attachments("order", "acme"), { key })).total).toBe(1);
});
