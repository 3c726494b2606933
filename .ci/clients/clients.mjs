/** Uploads each case of $CASES with each client for Node. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { finished } from "node:stream/promises";
import axios from "axios";
import NodeFormData from "form-data";
import got from "got";
import needle from "needle";
import * as nodeFetch from "node-fetch";
import superagent from "superagent";
import * as undici from "undici";

const require = createRequire(import.meta.url);
const { CASES, TO } = process.env;
const content = Buffer.from("%PDF-1.7");

/** A form as web standards define it. */
const webForm = (fields, name, { FormData, File } = globalThis) => {
  const form = new FormData();
  for (const [field, value] of fields) form.append(field, value);
  form.append("data[file]", new File([content], name));
  return form;
};

/** The bytes that an app of React Native sends, with the file's name as the given version writes it. */
const reactNative = (parameters) => (url, fields, name) => {
  const texts = fields.map(([field, value]) => `content-disposition: form-data; name="${field}"\r\n\r\n${value}`);
  const file = `content-disposition: form-data; name="data[file]"; ${parameters(name)}\r\ncontent-type: application/pdf\r\n\r\n${content}`;
  const body = [...texts, file].map((part) => `--b\r\n${part}\r\n`).join("");
  return fetch(url, {
    method: "POST",
    headers: { "Content-Type": "multipart/form-data; boundary=b" },
    body: `${body}--b--\r\n`,
  });
};

/** Clients whose bytes are written here, by their names and versions. */
const written = {
  "React Native/0.74": reactNative((name) => `filename="${name}"; filename*=utf-8''${encodeURI(name)}`),
  "React Native/0.77": reactNative((name) => `filename="${encodeURIComponent(name.replaceAll("/", "_"))}"`),
};

const clients = {
  axios: (url, fields, name) => axios.post(url, webForm(fields, name)),
  "form-data": (url, fields, name) => {
    const form = new NodeFormData();
    for (const [field, value] of fields) form.append(field, value);
    form.append("data[file]", content, name);
    return new Promise((resolve, reject) => {
      form.submit(url, (error, response) => (error ? reject(error) : resolve(finished(response.resume()))));
    });
  },
  got: (url, fields, name) => got.post(url, { body: webForm(fields, name) }),
  needle: (url, fields, name) => {
    const file = { buffer: content, filename: name, content_type: "application/pdf" };
    return needle("post", url, { ...Object.fromEntries(fields), "data[file]": file }, { multipart: true });
  },
  "node-fetch": (url, fields, name) =>
    nodeFetch.default(url, { method: "POST", body: webForm(fields, name, nodeFetch) }),
  superagent: (url, fields, name) =>
    superagent.post(url).field(Object.fromEntries(fields)).attach("data[file]", content, name),
  undici: (url, fields, name) =>
    undici.fetch(url, { method: "POST", body: webForm(fields, name, { FormData: undici.FormData, File }) }),
};

const values = readFileSync(CASES, "utf8").split("\0");
const installed = Object.entries(clients).map(([client, upload]) => {
  const { version } = require(`./node_modules/${client}/package.json`);
  return [`${client}/${version}`, upload];
});
for (const [client, upload] of [...installed, ...Object.entries(written)]) {
  for (let at = 0; at + 1 < values.length; at += 2) {
    const fields = [["data[name]", "LOA"], ...(values[at + 1] ? [["data[notes]", values[at + 1]]] : [])];
    await upload(`${TO}/${client}/${at / 2}`, fields, values[at]).catch(({ message }) => console.log(client, message));
  }
}
