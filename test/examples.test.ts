import { randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import * as z from "zod/mini";
import { localServices, userEnvironment } from "./support/processes/local-service.ts";
import { runScript } from "./support/processes/shell.ts";
import { extent } from "./support/setup/extent.ts";

/** The programs in docs/examples. That in Python needs httpx: .ci/generators/run tests it. */

const services = localServices();
afterAll(() => services.remove());

const One = z.object({ one: z.object({ id: z.string() }) });
const Applied = z.object({ orders: One, requests: One });

describe.runIf(extent !== "sample")("the programs that the README links", () => {
  it.each(["node docs/examples/client.ts", "docs/examples/client.sh"])(
    "upload, wait for the carrier and follow events: %s",
    async (program) => {
      const { url, demo, environment, apply, startCheckout } = await services.start([]);
      const file = {
        orders: { one: { account: demo.ACCOUNT } },
        requests: { one: { order: "one", type: "ADD_MESSAGING_NUMBERS" } },
      };
      const { orders, requests } = z.parse(Applied, await apply(file));
      const [loa = "", scan = ""] = ["loa.pdf", "scan.bin"].map((name) => join(services.state, "..", name));
      writeFileSync(loa, "%PDF-1.7 signed");
      writeFileSync(scan, randomBytes(5_000_000));
      const { EVENTS } = environment;
      const { output, errors, code } = await runScript(
        `${program} '${loa}' '${scan}'`,
        { ...userEnvironment, ...demo, URL: url, EVENTS, REQUEST: requests.one.id },
        // The order is checked out as soon as the program waits for it.
        async (line) => {
          if (line.startsWith("Uploaded")) await startCheckout(orders.one.id);
        },
      );
      expect([code, errors]).toEqual([0, expect.not.stringMatching(/error/i)]);
      expect(output.match(/^01\w{24} is with the carrier$/gm)).toHaveLength(2);
      expect(output.match(/request_attachment\.\w+/g)?.sort()).toEqual(
        ["created", "created", "forwarded", "forwarded"].map((event) => `request_attachment.${event}`),
      );
    },
  );
});
