import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { text } from "node:stream/consumers";
import { afterAll, expect, it, onTestFinished, vi } from "vitest";
import { listen } from "../../infra/local/listen.ts";
import { type LocalService, localServices } from "../support/processes/local-service.ts";
import { chromiumPath, launchChromium } from "./chromium.ts";

/** The example for a web page, in a browser, with a server on another origin that has the API key. */

const code = readFileSync(new URL("../../docs/examples/upload-page.js", import.meta.url), "utf8").replace(
  "export ",
  "",
);
const page = `<!doctype html><script>
  const call = async (path, body) => (await fetch(path, { method: "POST", body: JSON.stringify(body) })).json();
  const prepare = async (data) => (await call("/uploads", { type: "upload", data })).data;
  const complete = (id) => call("/uploads/" + id + "/complete", { type: "request_attachment", data: { name: "Scan" } });
  ${code}
</script>`;

const services = localServices();
afterAll(() => services.remove());

it.runIf(chromiumPath)(
  "./patchbay start --upload-origin lets only pages of that origin send a file to S3",
  async () => {
    let service: LocalService | undefined;
    const server = createServer(async (incoming, outgoing) => {
      if (incoming.method === "GET") return outgoing.writeHead(200, { "Content-Type": "text/html" }).end(page);
      const headers = { authorization: `Bearer ${service?.demo.KEY}`, "content-type": "application/json" };
      const url = `${service?.url}/api/v1/requests/${service?.demo.REQUEST}${incoming.url}`;
      outgoing.end(await (await fetch(url, { method: "POST", headers, body: await text(incoming) })).text());
    });
    const { port, close } = await listen(server);
    onTestFinished(() => close());
    service = await services.start(["--upload-origin", `http://localhost:${port}`]);
    const browser = await launchChromium();
    onTestFinished(() => browser.close());
    const uploadFrom = async (origin: string) => {
      const tab = await browser.newPage();
      await tab.goto(origin);
      return tab.evaluate(
        `const parts = [];
        const onProgress = (part) => parts.push(part);
        upload(new File([new Uint8Array(5_000_000)], "scan.bin"), { prepare, complete, onProgress }).then(
          (created) => ({ created, parts }),
          String,
        )`,
      );
    };
    expect(await uploadFrom(`http://localhost:${port}`)).toMatchObject({
      created: { type: "request_attachment", data: { name: "Scan", filename: "scan.bin" } },
      parts: expect.arrayContaining([1]),
    });
    const other = `http://127.0.0.1:${port}`;
    expect(await uploadFrom(other)).toBe("Error: Storage did not respond");
    const { output } = service;
    const line = `./patchbay start --upload-origin ${other}\n`;
    await vi.waitFor(() => expect(output.stderr).toContain(line), { timeout: 20_000 });
  },
);

it.runIf(chromiumPath)(
  "a PUT while S3 still receives an earlier one, a 409, is repeated until it is stored, and no other refusal",
  async () => {
    const browser = await launchChromium();
    onTestFinished(() => browser.close());
    const tab = await browser.newPage();
    const origin = "http://localhost:1";
    const statuses = [409, 409, 200, 403];
    await tab.route(`${origin}/**`, (route) =>
      route.request().method() === "PUT"
        ? route.fulfill({ status: statuses.shift() ?? 500 })
        : route.fulfill({ contentType: "text/html", body: page }),
    );
    await tab.goto(origin);
    const upload = () =>
      tab.evaluate(
        `upload(new File(["scan"], "scan.bin"), {
        prepare: async () => ({ id: "UPLOAD", method: "PUT", url: "/storage", headers: {} }),
        complete: async (id) => id,
      }).catch(String)`,
      );
    expect([await upload(), statuses]).toEqual(["UPLOAD", [403]]);
    expect([await upload(), statuses]).toEqual(["Error: Storage returned 403", []]);
  },
);
