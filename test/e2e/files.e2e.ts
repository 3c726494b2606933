import { randomBytes } from "node:crypto";
import { beforeAll, describe, expect, it } from "vitest";
import { fileKey } from "../../shared/attachments/file-keys.ts";
import { openFile } from "../../shared/attachments/files.ts";
import { attachmentOf, form } from "../support/fixtures/attachments.ts";
import { newContent, sha256Of } from "../support/fixtures/upload-content.ts";
import { completePath, sentUpload } from "../support/fixtures/uploads.ts";
import { call, codeOf, invalidParametersOf } from "../support/requests/client.ts";
import { type Customer, newCustomer } from "./customer.ts";

let customer: Customer;
beforeAll(async () => {
  customer = await newCustomer();
});

const uploadBytes = (content: Uint8Array<ArrayBuffer>) =>
  call("POST", customer.attachments("request", "acme"), {
    key: customer.key("acme"),
    body: form({}, new File([content], "scan.pdf", { type: "application/pdf" })),
  });

/** The SHA-256 of an attachment's stored file, if it exists. */
const stored = async (attachment: string) => {
  const file = await openFile(fileKey({ type: "request", id: customer.id("requests", "acme") }, attachment));
  return file && sha256Of(Buffer.concat(await Array.fromAsync(file)));
};

describe("a file", () => {
  it("of 4.2 MB is stored byte for byte, and is removed with its attachment", async () => {
    const content = new Uint8Array(randomBytes(4_200_000));
    const { id } = attachmentOf(await uploadBytes(content));
    expect(await stored(id)).toBe(sha256Of(content));
    const path = `${customer.attachments("request", "acme")}/${id}`;
    expect((await call("DELETE", path, { key: customer.key("acme") })).status).toBe(200);
    expect(await stored(id)).toBeUndefined();
  });

  it("of 20 MB is uploaded directly, and becomes an ordinary attachment", async () => {
    const [path, key] = [customer.attachments("request", "acme"), customer.key("acme")];
    const content = newContent(20_000_000);
    const { id } = await sentUpload(path, key, content);
    const json = { type: "request_attachment", data: { name: "Scan" } };
    const response = await call("POST", completePath(path, id), { key, json });
    expect([response.status, attachmentOf(response).id]).toEqual([201, id]);
    expect(await stored(id)).toBe(sha256Of(content));
    const again = await call("POST", completePath(path, id), { key, json });
    expect(invalidParametersOf(again)).toEqual(["path /upload_id constraint.reference"]);
  });

  it("that is too large returns the service's own 413", async () => {
    const response = await uploadBytes(new Uint8Array(5_000_000));
    expect([response.status, codeOf(response)]).toEqual([413, "payload_too_large"]);
  });
});
