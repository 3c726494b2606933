import { describe, expect, it } from "vitest";
import { createAttachmentRoutes } from "../../../shared/attachments/routes.ts";
import { attachmentOf, form, upload } from "../../support/fixtures/attachments.ts";
import { newSwitch, patch } from "../../support/fixtures/switches.ts";
import { tenants } from "../../support/fixtures/tenants.ts";
import { newContent, sendFile } from "../../support/fixtures/upload-content.ts";
import { completePath, prepareUpload } from "../../support/fixtures/uploads.ts";
import { failure } from "../../support/processes/failure.ts";
import { admin, adminJson } from "../../support/requests/admin.ts";
import { call, type ReceivedResponse } from "../../support/requests/client.ts";
import { invoke } from "../../support/requests/event.ts";

const t = await tenants();
const [acme, key] = [t.account("acme"), t.key("acme")];
const ofRequest = { type: "request", id: t.request("acme") };
const ofOrder = { type: "order", id: t.order("acme") };
const path = t.attachments("request", "acme");

const find = async (text: string) => (await adminJson(["find", text])).found;
const place = (type: string, id: string, parent: object | null = null, account = acme) => ({
  type,
  id,
  account,
  parent,
});
const requestId = ({ headers }: ReceivedResponse) => headers.get("x-request-id") ?? "";

describe("find", () => {
  it("says of an id or a key what it is, whose, and where it belongs, in either case", async () => {
    const { id } = await newSwitch(key, { name: "found" });
    const { id: keyId } = (await adminJson(["key", "show", key])) ?? {};
    const east = t.account("east");
    for (const [text, found] of [
      [acme, place("account", acme)],
      [east, place("account", east, { type: "account", id: acme }, east)],
      [t.user("ops"), place("user", t.user("ops"))],
      [keyId, place("api_key", keyId)],
      [key, place("api_key", keyId)],
      [ofOrder.id, place("order", ofOrder.id)],
      [ofRequest.id, place("request", ofRequest.id, ofOrder)],
      [t.request("east"), place("request", t.request("east"), ofOrder, east)],
      [id, place("switch", id)],
    ])
      for (const each of [text, text === key ? key : text.toLowerCase()])
        expect(await find(each), each).toEqual([found]);
  });

  it("finds an attachment by its id alone, also if it was deleted, and by its reference_id while it has one", async () => {
    for (const [kind, parent] of [
      ["request", ofRequest],
      ["order", ofOrder],
    ] as const) {
      const reference = crypto.randomUUID();
      const attachments = t.attachments(kind, "acme");
      const { id } = await upload(attachments, key, { "data[reference_id]": reference });
      const found = [place(`${kind}_attachment`, id, parent)];
      for (const text of [id, reference, reference.toUpperCase()]) expect(await find(text), text).toEqual(found);
      await call("DELETE", `${attachments}/${id}`, { key });
      expect(await find(id)).toEqual(found);
      expect((await admin(["find", reference])).code).toBe(1);
      const { id: keyId } = await adminJson(["key", "show", key]);
      const deletion = String.raw`20\d\d-\S+Z by Acme: key ${keyId}, user ${t.user("ops")}`;
      const history = `\`history ${kind} ${parent.id}\``;
      const line = `\n${kind}_attachment +${id} +Acme +${acme} +${kind} ${parent.id} +${deletion}\n`;
      expect((await admin(["find", id])).stdout).toMatch(new RegExp(`${line}\nWhat happened to it: ${history}\n$`));
      expect((await admin(["find", id, "--json"])).stderr).toMatch(
        new RegExp(`(^|\n)${id} was deleted at ${deletion}: see ${history}\\.\n$`),
      );
      for (const command of ["show", "download"])
        expect(await admin(["attachment", command, parent.id, id])).toEqual(
          failure(1, new RegExp(`\nThe attachment ${id} was deleted at ${deletion}: see ${history}\\.\n$`)),
        );
    }
  });

  it("finds accounts by the beginning of their names, and attachments by a part of theirs within an account or an order", async () => {
    const name = `Nordwind ${crypto.randomUUID()}`;
    const { id: group } = await adminJson(["account", "create", "--name", name]);
    const { id: south } = await adminJson(["account", "create", "--name", `${name} Süd`, "--parent", group]);
    const places = [
      { ...place("account", group, null, group), name },
      { ...place("account", south, { type: "account", id: group }, south), name: `${name} Süd` },
    ];
    expect(await find(name.toUpperCase())).toEqual(places);
    for (const form of ["NFC", "NFD"]) expect(await find(`${name} sü`.normalize(form))).toEqual(places.slice(1));
    expect((await admin(["find", name])).stdout).toMatch(new RegExp(`^account +${group} .* ${name} +- +no$`, "m"));
    const file = `${crypto.randomUUID()}.pdf`;
    const named = { "data[name]": "Vollmacht", "data[filename]": `Über-${file}`.normalize("NFD") };
    const { id: own } = await upload(path, key, named);
    const { id: ofTheOrder } = await upload(t.attachments("order", "acme"), key, named);
    const both = [
      { ...place("order_attachment", ofTheOrder, ofOrder), name: "Vollmacht" },
      { ...place("request_attachment", own, ofRequest), name: "Vollmacht" },
    ];
    for (const scope of [
      ["--account", acme],
      ["--order", ofOrder.id],
    ]) {
      expect((await adminJson(["find", file.toUpperCase(), ...scope])).found).toEqual(both);
      for (const form of ["NFC", "NFD"])
        expect((await adminJson(["find", `über-${file}`.normalize(form), ...scope])).found).toEqual(both);
      expect((await adminJson(["find", "vollm", ...scope])).found).toEqual(expect.arrayContaining(both));
    }
    expect(await admin(["find", file, "--account", south])).toEqual(failure(1, "Nothing was found."));
    expect(await admin(["find", "vollmacht"])).toEqual(failure(1, "add --account <id> or --order <id>."));
  });

  it("finds what people paste: a header with a key, a later word of a customer's name, and the name of a run", async () => {
    const { id: keyId } = await adminJson(["key", "show", key]);
    for (const header of [`Bearer ${key}`, `authorization: bearer ${key}`, `Authorization: Bearer  ${key} `])
      expect(await find(header)).toEqual([place("api_key", keyId)]);
    const word = `zz${crypto.randomUUID().slice(0, 8)}`;
    const name = `The (${word}-Tel) of Köln`;
    const { id } = await adminJson(["account", "create", "--name", name]);
    for (const text of [word.toUpperCase(), `${word} tel`, `${word}-tel) of kö`])
      expect(await find(text), text).toEqual([{ ...place("account", id, null, id), name }]);
    expect((await admin(["find", word.slice(1)])).code).toBe(1);
    const run = `checkout-${ofOrder.id}-7`;
    for (const text of [run, `arn:aws:states:eu-central-1:1:execution:Checkout:${run}`])
      expect(await find(text), text).toEqual([place("order", ofOrder.id)]);
  });

  it("finds an upload before its file is sent, and after it became an attachment", async () => {
    const content = newContent();
    const prepared = await prepareUpload(path, key, content);
    const { id } = prepared;
    const found = [place("upload", id, ofRequest)];
    expect(await find(id)).toEqual(found);
    await sendFile(prepared, content);
    expect(await find(id)).toEqual(found);
    await call("POST", completePath(path, id), { key, json: { type: "request_attachment", data: { name: "LOA" } } });
    const both = [place("request_attachment", id, ofRequest), ...found];
    expect(await find(id)).toEqual(both);
    await call("DELETE", `${path}/${id}`, { key });
    expect(await find(id)).toEqual(both.toReversed());
  });

  it("finds what was changed by the X-Request-Id of the response", async () => {
    const created = await call("POST", path, { key, body: form() });
    const { id } = attachmentOf(created);
    const json = { type: "request_attachment", data: { name: "Renamed" } };
    const updated = await call("PATCH", `${path}/${id}`, { key, json });
    const deleted = await call("DELETE", `${path}/${id}`, { key });
    for (const response of [created, updated, deleted])
      expect(await find(requestId(response))).toEqual([place("request_attachment", id, ofRequest)]);
    const { id: switchId } = await newSwitch(key, { name: "changed" });
    const changed = await patch(key, switchId, { sms_identity: "ops" });
    const removed = await call("DELETE", `/api/v1/switches/${switchId}`, { key });
    for (const text of [switchId, requestId(changed), requestId(removed)])
      expect(await find(text)).toEqual([place("switch", switchId)]);
  });

  it("says that it has found nothing: of what is no id, and of the X-Request-Id of what changed nothing", async () => {
    const listed = await call("GET", path, { key });
    for (const text of ["nonsense", "01J00000000000000000000000", "apik_nonsense", requestId(listed)]) {
      const { code, stdout } = await admin(["find", text, "--json"]);
      expect([code, JSON.parse(stdout)], text).toEqual([1, { found: [] }]);
      const { code: failed, stderr } = await admin(["find", text]);
      expect([failed, stderr], text).toEqual([1, expect.stringContaining("Nothing was found. `find` searches ids,")]);
    }
    const { stderr } = await admin(["find", requestId(listed)]);
    expect(stderr).toContain("in the logs only: `./patchbay start --verbose` prints");
  });
});

it("an attachment can have a reference_id that is the request's id, too", async () => {
  const text = crypto.randomUUID();
  const route = createAttachmentRoutes.request;
  const sent = new Request("http://local", { method: "POST", body: form({ "data[reference_id]": text }) });
  const headers = { authorization: `Bearer ${key}`, "content-type": sent.headers.get("content-type") ?? "" };
  const body = Buffer.from(await sent.arrayBuffer());
  const created = await invoke(route, { headers, ids: { request_id: ofRequest.id }, body, requestId: text });
  const { id } = JSON.parse(created.body).data;
  expect([created.statusCode, await find(text)]).toEqual([201, [place("request_attachment", id, ofRequest)]]);
});

it("a command that gets an id of something else says of what", async () => {
  for (const [args, message] of [
    [["order", "show", ofRequest.id], `There is no order ${ofRequest.id}: this is the id of a request.`],
    [["key", "show", t.user("ops")], `There is no API key with the id ${t.user("ops")}: this is the id of a user.`],
    [["history", "order", ofRequest.id], `There is no order ${ofRequest.id}: this is the id of a request.`],
    [["user", "disable", acme], `There is no user ${acme}: this is the id of an account.`],
    [["attachment", "list", acme], `There is no request and no order ${acme}: this is the id of an account.`],
    [["key", "show", "nonsense"], "There is no API key with the id nonsense: `key list` lists the existing ones."],
  ] as const)
    expect((await admin(args)).stderr).toContain(`\n${message}\n`);
});
