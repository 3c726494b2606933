import * as z from "zod/mini";
import type { MeasuredService, Prepared } from "../servers/measured.ts";

/** One plain request for each of the 16 endpoints, made anew each time, by the names of their routes. */

type Place = { readonly key: string; readonly request: string; readonly order: string; readonly account: string };

const Made = z.object({ data: z.object({ id: z.string() }) });

let made = 0;

export const sixteen = ({ send }: Pick<MeasuredService, "send">, { key, request, order, account }: Place) => {
  const headers = { authorization: `Bearer ${key}` };
  const json = (method: string, path: string, body: unknown): Prepared => ({
    method,
    path,
    init: { headers: { ...headers, "content-type": "application/json" }, body: JSON.stringify(body) },
  });
  const plain = (method: string, path: string): Prepared => ({ method, path, init: { headers } });
  const upload = (path: string): Prepared => {
    const body = new FormData();
    body.append("data[name]", "Letter of authorization");
    body.append("data[reference_id]", crypto.randomUUID());
    body.append("data[file]", new File(["%PDF-1.7 signed"], "loa.pdf", { type: "application/pdf" }));
    return { method: "POST", path, init: { headers, body } };
  };
  const newSwitch = (path: string) => {
    made += 1;
    return json("POST", path, { type: "switch", data: { name: `Switch ${process.pid} ${made}` } });
  };
  const idOf = async (prepared: Prepared): Promise<string> => {
    const response = await send(prepared);
    if (response.status !== 201) throw new Error(`${prepared.path}: ${response.status} ${await response.text()}`);
    return z.parse(Made, await response.json()).data.id;
  };
  const attachments = (type: "request" | "order", id: string) => {
    const path = `/api/v1/${type}s/${id}/attachments`;
    const one = async () => `${path}/${await idOf(upload(path))}`;
    const change = { type: `${type}_attachment`, data: { notes: "changed" } };
    return {
      [`${type}-attachments/create`]: async () => upload(path),
      [`${type}-attachments/list`]: async () => plain("GET", path),
      [`${type}-attachments/show`]: async () => plain("GET", await one()),
      [`${type}-attachments/update`]: async () => json("PATCH", await one(), change),
      [`${type}-attachments/delete`]: async () => plain("DELETE", await one()),
    };
  };
  const switches = "/api/v1/switches";
  const aSwitch = async () => `${switches}/${await idOf(newSwitch(switches))}`;
  const prepare: Record<string, () => Promise<Prepared>> = {
    ...attachments("request", request),
    ...attachments("order", order),
    "switches/create": async () => newSwitch(switches),
    "switches/create-under-account": async () => newSwitch(`/api/v1/accounts/${account}/switches`),
    "switches/list": async () => plain("GET", switches),
    "switches/show": async () => plain("GET", await aSwitch()),
    "switches/update": async () =>
      json("PATCH", await aSwitch(), { type: "switch", data: { sms_identity: "changed" } }),
    "switches/delete": async () => plain("DELETE", await aSwitch()),
  };
  return prepare;
};
