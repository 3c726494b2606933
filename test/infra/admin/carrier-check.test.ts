import { createServer } from "node:http";
import { createServer as createSocketServer } from "node:net";
import { setTimeout } from "node:timers/promises";
import { ulid } from "ulid";
import { afterEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { playContract } from "../../../infra/admin/carrier/carrier-contract.ts";
import type { Verdict } from "../../../infra/admin/cli/diagnosis.ts";
import { startCarrier } from "../../../infra/local/carrier.ts";
import type { CartCall } from "../../../infra/local/carrier-carts.ts";
import { listen, type Reply } from "../../../infra/local/listen.ts";
import { localServices } from "../../support/processes/local-service.ts";
import { runNode } from "../../support/processes/shell.ts";
import { admin } from "../../support/requests/admin.ts";
import { cloudFormation } from "../../support/servers/cloudformation.ts";
import { type Fault, faultyCarrier } from "../../support/servers/faulty-carrier.ts";
import { byExtent, exhaustive, sampleOf } from "../../support/setup/extent.ts";

afterEach(() => vi.unstubAllEnvs());

const play = (url: string, token?: string) => {
  vi.stubEnv("CARRIER_URL", url);
  vi.stubEnv("CARRIER_FUNCTION", "");
  return playContract(ulid(), token);
};

const checksOf = async (fault: Fault, status: string) => {
  const { url, close } = await faultyCarrier(fault);
  onTestFinished(close);
  const { diagnoses } = await play(url);
  return diagnoses.filter((one) => one.status === status).map(({ check }) => check);
};

/** Responds to the matching calls. */
const to =
  (matches: (call: CartCall) => boolean, respond: (next: () => Reply, call: CartCall) => Reply | undefined): Fault =>
  (call, _, next) =>
    matches(call) ? respond(next, call) : next();

const method = (name: string) => (call: CartCall) => call.method === name;

/** Responds only once the cart is checked out. */
const afterCheckout =
  (name: string, reply: Reply): Fault =>
  (call, { checked_out }, next) =>
    checked_out && call.method === name ? reply : next();

/** Forgets the responses to a method, so that a repeated call acts again. */
const actingAgain =
  (name: string, change: (reply: Reply) => Reply = (reply) => reply): Fault =>
  (call, cart, next) => {
    for (const one of Object.keys(cart.answers)) if (one.startsWith(`${name} `)) delete cart.answers[one];
    const reply = next();
    return call.method === name ? change(reply) : reply;
  };

const placeIn = ({ path }: CartCall) => path.replace(/^.*\/requests\/(\w+)\/attachments\/(\w+)$/, "$1/$2");

const html = "<!doctype html><title>Please wait</title>";
const json = (status: number, body: object = {}): Reply => ({ status, body });
const bytesOf = ({ form }: CartCall) => form?.bytes ?? 0;

/** What a carrier that stores its errors has stored. */
const errors = new Map<string, Reply>();

const faults: readonly (readonly [fault: string, check: string, fault: Fault])[] = [
  [
    "loses what it has stored",
    "a PUT stores a letter",
    (_, cart, next) => {
      const reply = next();
      cart.held = {};
      return reply;
    },
  ],
  [
    "loses one letter of many",
    "a PUT stores a letter",
    (call, cart, next) => {
      const reply = next();
      if (bytesOf(call) === 1) delete cart.held[placeIn(call)];
      return reply;
    },
  ],
  ["responds to a PUT with 500", "a PUT stores a letter", to(method("PUT"), () => json(500))],
  ["refuses the token", "a PUT stores a letter", () => json(401)],
  [
    "keeps the old version of a letter",
    "a PUT with another key replaces the letter",
    (call, cart, next) => {
      const old = cart.held[placeIn(call)];
      const reply = next();
      if (call.method === "PUT" && old) cart.held[placeIn(call)] = old;
      return reply;
    },
  ],
  [
    "lets a late PUT replace the newer version",
    "a repeated PUT returns the same response, and does nothing",
    actingAgain("PUT", ({ status }) => json(status < 300 ? 200 : status)),
  ],
  [
    "responds to a repeated PUT differently",
    "a repeated PUT returns the same response, and does nothing",
    (call, cart, next) => {
      const isKnown = cart.answers[`PUT ${call.path} ${call.idempotencyKey}`] !== undefined;
      return isKnown ? json(200, { repeated: true }) : next();
    },
  ],
  [
    "keeps a letter that is withdrawn",
    "a DELETE withdraws a letter",
    (call, cart, next) => {
      const held = { ...cart.held };
      const reply = next();
      if (call.method === "DELETE") cart.held = held;
      return reply;
    },
  ],
  [
    "lets a late DELETE remove a letter that has come back",
    "a repeated DELETE returns the same response, and does nothing",
    actingAgain("DELETE", ({ status }) => json(status)),
  ],
  [
    "responds to a DELETE of an unknown letter with a page",
    "a DELETE of an unknown letter succeeds",
    (call, cart, next) =>
      call.method === "DELETE" && !cart.checked_out && !cart.held[placeIn(call)] && !cart.withdrawn[placeIn(call)]
        ? { status: 404, body: html }
        : next(),
  ],
  [
    "takes one letter under two requests for the same",
    "one letter under two requests is two",
    (call, cart, next) => {
      const reply = next();
      const [, id = ""] = placeIn(call).split("/");
      if (call.method === "PUT")
        for (const place of Object.keys(cart.held))
          if (place.endsWith(`/${id}`) && place !== placeIn(call)) delete cart.held[place];
      return reply;
    },
  ],
  [
    "drops quotes from names",
    "names with quotes and beyond ASCII",
    to(method("PUT"), (next) => {
      const { status, body } = next();
      const { name } = Object(body);
      return { status, body: { ...Object(body), ...(name && { name: name.replaceAll('"', "") }) } };
    }),
  ],
  [
    "reads UTF-8 as Latin-1",
    "names with quotes and beyond ASCII",
    to(method("PUT"), (next) => {
      const { status, body } = next();
      const { filename } = Object(body);
      return {
        status,
        body: { ...Object(body), ...(filename && { filename: Buffer.from(filename).toString("latin1") }) },
      };
    }),
  ],
  [
    "refuses 1 byte",
    "a file of 1 byte",
    to(
      (call) => bytesOf(call) === 1,
      () => json(400),
    ),
  ],
  [
    "refuses 10 MB",
    "a file of 10 MB",
    to(
      (call) => bytesOf(call) > 9_000_000,
      () => ({ status: 413, body: html }),
    ),
  ],
  [
    "takes four calls at once",
    "sixteen calls at once",
    async (call, _, next, inProgress) => {
      // Each call takes long enough for the others to arrive.
      if (call.method === "PUT") await setTimeout(50);
      return inProgress() > 4 ? json(503) : next();
    },
  ],
  [
    "confirms sixteen calls at once and loses fifteen of them",
    "sixteen calls at once",
    async (call, cart, next, inProgress) => {
      const before = { ...cart.held };
      if (call.method === "PUT") await setTimeout(50);
      const isCrowded = inProgress() > 4;
      const reply = next();
      // It writes the cart as it was before the call.
      if (isCrowded) cart.held = { ...before, [placeIn(call)]: Object(cart.held)[placeIn(call)] };
      return reply;
    },
  ],
  [
    "verifies no SHA-256",
    "a PUT whose file differs from its SHA-256 is a 400, and its key stays free",
    (call, _, next) => {
      if (call.form) {
        const metadata = { ...JSON.parse(call.form.metadata), sha256: call.form.sha256 };
        Object.assign(call.form, { metadata: JSON.stringify(metadata) });
      }
      return next();
    },
  ],
  [
    "stores its errors by key",
    "a PUT whose file differs from its SHA-256 is a 400, and its key stays free",
    to(method("PUT"), (next, call) => {
      const key = `${call.path} ${call.idempotencyKey}`;
      const error = errors.get(key);
      const reply = error ?? next();
      if (reply.status === 400 && call.form) errors.set(key, reply);
      return reply;
    }),
  ],
  [
    "drops the end of a name with 10 MB",
    "a file of 10 MB",
    to(
      (call) => bytesOf(call) > 9_000_000,
      (next) => ({ ...next(), body: { name: "Test" } }),
    ),
  ],
  [
    "stores a body that is broken off",
    "a PUT that is broken off stores nothing",
    (call, cart, next) => {
      const reply = next();
      if (call.method === "PUT" && !call.form && !cart.checked_out)
        cart.held[placeIn(call)] = {
          request_id: placeIn(call).split("/")[0] ?? "",
          attachment_id: placeIn(call).split("/")[1] ?? "",
          name: "",
          notes: null,
          file_hint: "LOA",
          filename: "",
          bytes: 0,
          sha256: "",
          received: 1,
          idempotency_key: call.idempotencyKey,
        };
      return reply;
    },
  ],
  [
    "responds to the POST with 500",
    "a POST checks the cart out",
    to(method("POST"), (next) => {
      const reply = next();
      return reply.status === 200 ? json(500) : reply;
    }),
  ],
  ["refuses a repeated POST", "a repeated POST returns the same response", afterCheckout("POST", json(409))],
  [
    "stores letters after the checkout",
    "a PUT and a DELETE after the checkout are a 409",
    afterCheckout("PUT", json(200)),
  ],
  [
    "removes letters after the checkout",
    "a PUT and a DELETE after the checkout are a 409",
    afterCheckout("DELETE", json(204)),
  ],
  [
    "always denies the checkout",
    "the GET tells whether the cart is checked out",
    to(method("GET"), () => json(200, { checked_out: false })),
  ],
  [
    "always says that it is checked out",
    "the GET tells whether the cart is checked out",
    to(method("GET"), () => json(200, { checked_out: true })),
  ],
  [
    "says nothing about the cart",
    "the GET tells whether the cart is checked out",
    to(method("GET"), () => json(200, { status: "open" })),
  ],
  [
    "shows a page for a GET",
    "the GET tells whether the cart is checked out",
    to(method("GET"), () => ({ status: 200, body: html })),
  ],
  ["responds to a GET with 503", "the GET tells whether the cart is checked out", to(method("GET"), () => json(503))],
  ["shows a page for a PUT", "no response is a page", to(method("PUT"), (next) => ({ ...next(), body: html }))],
  [
    "shows a page for the POST",
    "no response is a page",
    to(method("POST"), (next) => {
      const reply = next();
      return reply.status === 200 ? { status: 200, body: html } : reply;
    }),
  ],
  [
    "responds to a PUT with 202",
    "no response is a 202",
    to(method("PUT"), (next) => {
      const reply = next();
      return reply.status < 300 ? { ...reply, status: 202 } : reply;
    }),
  ],
  [
    "responds to the POST with 202",
    "no response is a 202",
    to(method("POST"), (next) => {
      const reply = next();
      return reply.status === 200 ? json(202) : reply;
    }),
  ],
  [
    "refuses a wrong manifest with 409",
    "it compares the manifest",
    to(method("POST"), (next) => {
      const reply = next();
      return reply.status === 412 ? json(409) : reply;
    }),
  ],
  [
    "lists what it has wrongly",
    "it compares the manifest",
    to(method("POST"), (next) => {
      const reply = next();
      return reply.status === 412 ? json(412, { attachments: [{ id: 7 }] }) : reply;
    }),
  ],
];

describe("carrier check", () => {
  it("finds no fault in the simulated carrier, which has everything that a carrier may have", async () => {
    const { url, close } = await startCarrier({ token: "a-token-of-a-carrier" });
    onTestFinished(close);
    const { diagnoses, latencies } = await play(url, "a-token-of-a-carrier");
    expect(diagnoses.filter(({ status }) => status !== "ok")).toEqual([]);
    expect(latencies.map(({ call, responses }) => `${call} ${responses}`)).toEqual([
      "GET 2",
      "PUT 33",
      "DELETE 7",
      "PUT of 10 MB 1",
      "POST 5",
    ]);
  });

  it.each(sampleOf(faults, byExtent({ sample: 9, most: 1, all: 1 })))(
    "of a carrier that %s fails only: %s",
    async (_, check, fault) => {
      expect(await checksOf(fault, "FAULT")).toEqual([check]);
    },
  );

  it.each<[lack: string, check: string, found: string, fault: Fault]>([
    [
      "cannot say whether a cart is checked out",
      "the GET tells whether the cart is checked out",
      'it cannot say: GET 501 {"error":"no"}',
      to(method("GET"), () => json(501, { error: "no" })),
    ],
    [
      "knows no letter that it does not have",
      "a DELETE of an unknown letter succeeds",
      "DELETE 404 {}",
      (call, cart, next) => (call.method === "DELETE" && !cart.held[placeIn(call)] ? json(404) : next()),
    ],
    [
      "judges that one byte is no letter",
      "a file of 1 byte",
      'PUT 422 {"reason":"This is not a PDF."}',
      to(
        (call) => bytesOf(call) === 1,
        () => json(422, { reason: "This is not a PDF." }),
      ),
    ],
    [
      "does not compare",
      "it compares the manifest",
      "it does not",
      (call, cart, next) => {
        if (call.method !== "POST" || cart.checked_out) return next();
        cart.checked_out = true;
        const reply = json(200, { checked_out: true });
        cart.answers[`POST ${call.path} ${call.idempotencyKey}`] = { status: 200, body: reply.body };
        return reply;
      },
    ],
    [
      "compares the letters, but not their keys",
      "it compares the manifest",
      "it notices a letter too many and a letter too few, but not another key",
      (call, cart, next) => {
        const reply = next();
        const isSame = call.manifest?.attachments.length === Object.keys(cart.held).length;
        if (reply.status !== 412 || !isSame) return reply;
        cart.checked_out = true;
        cart.answers[`POST ${call.path} ${call.idempotencyKey}`] = json(200, { checked_out: true });
        return json(200, { checked_out: true });
      },
    ],
    [
      "does not list what it has",
      "it compares the manifest",
      "it does, but does not say what the cart has: all is sent again",
      to(method("POST"), (next) => {
        const reply = next();
        return reply.status === 412 ? json(412) : reply;
      }),
    ],
    [
      "does not say that it has checked out",
      "the POST says `checked_out`",
      "POST 204",
      to(method("POST"), (next) => {
        const reply = next();
        return reply.status === 200 ? { status: 204 } : reply;
      }),
    ],
  ])("of a carrier that %s finds no fault, and says so at: %s", async (_, check, found, fault) => {
    const { url, close } = await faultyCarrier(fault);
    onTestFinished(close);
    const { diagnoses } = await play(url);
    expect(diagnoses.filter(({ status }) => status === "FAULT")).toEqual([]);
    expect(diagnoses.find((one) => one.check === check)).toMatchObject({ status: "notice", found });
  });

  it.runIf(exhaustive)("waits for a carrier that places orders after it has responded", async () => {
    let asked = 0;
    const { url, close } = await faultyCarrier((call, cart, next) => {
      if (call.method === "GET") return json(200, { checked_out: cart.checked_out && ++asked > 1 });
      const reply = next();
      return call.method === "POST" && reply.status === 200 ? json(200, { checked_out: false }) : reply;
    });
    onTestFinished(close);
    const { diagnoses } = await play(url);
    expect(diagnoses.filter(({ status }) => status === "FAULT")).toEqual([]);
    expect(diagnoses.find(({ check }) => check === "a POST checks the cart out")?.found).toContain("the GET said true");
  });

  it.runIf(exhaustive)("waits as long as a carrier asks for that limits its calls", async () => {
    const { url, close } = await startCarrier();
    onTestFinished(close);
    const limit = { method: "DELETE", action: "status", status: 429, headers: { "retry-after": "1" } };
    await fetch(`${url}/faults`, { method: "POST", body: JSON.stringify(limit) });
    const { diagnoses } = await play(url);
    expect(diagnoses.filter(({ status }) => status === "FAULT")).toEqual([]);
  });

  it.runIf(exhaustive).each<[what: string, fault: Fault]>([
    ["nothing responds", () => undefined],
    ["a DELETE never gets a response", to(method("DELETE"), () => undefined)],
  ])("ends after three calls without a response if %s", async (_, fault) => {
    vi.stubEnv("CARRIER_TIMEOUT_MS", "1000");
    const { url, close } = await faultyCarrier(fault);
    onTestFinished(close);
    const { diagnoses } = await play(url);
    const faulty = diagnoses.filter(({ status }) => status === "FAULT");
    expect(faulty.at(-1)?.found).toMatch(
      /^(PUT|DELETE) to http:\S+ without a valid response: it did not respond in time$/,
    );
    expect(diagnoses.at(-1)).toMatchObject({ status: "skipped", found: "an earlier call has failed" });
  });

  it("says that the responses of a carrier are not valid HTTP", async () => {
    const server = createSocketServer((socket) => socket.on("error", () => {}).end("SSH-2.0-OpenSSH_9.6\r\n"));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void server.close());
    const { diagnoses } = await play(`http://127.0.0.1:${Object(server.address()).port}`);
    expect(diagnoses.find(({ status }) => status === "FAULT")?.found).toMatch(
      /^PUT to http:\S+ without a valid response: the response is not valid HTTP \(HPE_INVALID_CONSTANT\)$/,
    );
  });

  const check = ["carrier", "check"];
  const runCheck = (url: string, ...more: string[]) => admin([...check, "--url", url, ...more]);

  it("prints what must hold, what may be missing, the times of the calls, and which order stays", async () => {
    const { url, close } = await startCarrier();
    onTestFinished(close);
    const { stdout, code } = await runNode(["infra/patchbay.ts", ...check, "--url", url, "--yes"]);
    expect(code).toBe(0);
    const texts = [
      /^\nWhat must hold\nok {7}a PUT stores a letter: PUT 201\n/,
      /\n\nWhat it may have\nnotice {3}it asks for a token: DELETE 200 \{"withdrawn":false\}\n {9}Whoever can reach it/,
      /\n\nCalls\ncall +responses +median_ms +longest_ms\nGET +2 /,
      /\n\nWhat the carrier has stored stays there, under the order 01\w{24}\.\n\nIt keeps the contract, as far as calls tell\. Not tested: whether letters survive a crash; .*\.\n$/,
    ];
    for (const text of texts) expect(stdout).toMatch(text);
    const document = JSON.parse((await runCheck(url, "--yes", "--json")).stdout);
    expect(document).toEqual({
      ok: true,
      carrier: url,
      order: expect.stringMatching(/^01\w{24}$/),
      checks: expect.arrayContaining([
        { check: "a PUT stores a letter", required: true, status: "ok", found: "PUT 201", remedy: null },
      ]),
      latencies: expect.arrayContaining([
        { call: "POST", responses: 5, median_ms: expect.any(Number), longest_ms: expect.any(Number) },
      ]),
      untested: expect.arrayContaining(["whether letters survive a crash"]),
    });
  });

  it.runIf(exhaustive)(
    "shows a hostile response as text, of which it reads only the beginning, and exits with 1",
    async () => {
      const { url, close } = await listen(
        createServer((incoming, outgoing) => {
          incoming.resume();
          outgoing.writeHead(200);
          const endless = () => void (outgoing.destroyed || outgoing.write(`\u001b[2J${"x".repeat(60_000)}`, endless));
          endless();
        }),
      );
      onTestFinished(close);
      const { stdout, code } = await runCheck(url, "--yes");
      expect(code).toBe(1);
      expect(stdout).not.toContain("\u001b");
      expect(stdout).toMatch(/FAULT {4}no response is a page: PUT 200 \\u001b\[2Jx+…, and \d+ more\n/);
    },
  );

  it("skips the rest if nothing is stored, and names what to correct", async () => {
    const { url, close } = await startCarrier({ token: "a-token-of-a-carrier" });
    onTestFinished(close);
    const { stdout, code } = await runCheck(url, "--yes");
    expect(code).toBe(1);
    expect(stdout).toContain(
      `FAULT    a PUT stores a letter: PUT 401 {"error":"the token is invalid"}\n         Set CARRIER_TOKEN`,
    );
    expect(stdout).toContain("\nThe other 21 checks were skipped: an earlier call has failed.\n");
  });

  it("names the address in each call that could not be made, and a token that is too short", async () => {
    const { stdout, code } = await runCheck("http://127.0.0.1:9", "--yes");
    expect(code).toBe(1);
    expect(stdout).toContain(
      " a PUT stores a letter: PUT to http://127.0.0.1:9 without a valid response: it could not be called",
    );
    expect(stdout).toMatch(/\n\nIt breaks the contract: 1 FAULT\. Not tested: .*\n$/);
    const args = [...check, "--yes", "--url", "http://127.0.0.1:9"];
    const short = await admin(args, { env: { CARRIER_TOKEN: "test" } });
    const why = "The carrier cannot be called, because the token in CARRIER_TOKEN has fewer than 16 characters: ask";
    expect([short.code, short.stderr]).toEqual([1, expect.stringContaining(why)]);
  });

  it("wants to be confirmed, and an address that paths can be appended to", async () => {
    const { stderr, code } = await runCheck("http://127.0.0.1:9");
    expect([code, stderr]).toEqual([2, expect.stringMatching(/^Send about 30 test letters to http.*--yes\./)]);
    const wrong = await runCheck("ftp://127.0.0.1", "--yes");
    expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining('--url cannot be "ftp://127.0.0.1".')]);
  });

  it("calls the carrier of a deployed stack, and says what to do if its token cannot be read", async () => {
    const { TABLE_NAME: TableName = "t", BUCKET_NAME: BucketName = "b" } = process.env;
    const outputs = {
      TableName,
      BucketName,
      StateMachineArn: "s",
      CarrierUrl: "http://127.0.0.1:9",
      CarrierTokenArn: "a",
    };
    const { url: endpoint, close } = await listen(cloudFormation("Patchbay-here", outputs));
    onTestFinished(close);
    const env = {
      AWS_ENDPOINT_URL: "",
      AWS_ENDPOINT_URL_CLOUDFORMATION: endpoint,
      AWS_ENDPOINT_URL_SECRETS_MANAGER: endpoint,
    };
    // This process may have a token of another test.
    const ofStack = ["infra/patchbay.ts", "--stack", "Patchbay-here", ...check];
    const { stderr, code } = await runNode([...ofStack, "--yes"], { env });
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(
        /\nThe carrier cannot be called, because the secret .+: pass --url, and the token in CARRIER_TOKEN\.\n/,
      ),
    ]);
    const unconfirmed = await runNode(ofStack, { env });
    expect([unconfirmed.code, unconfirmed.stderr]).toEqual([2, expect.stringContaining("to http://127.0.0.1:9, and")]);
  });

  it.runIf(exhaustive)("calls the target's adapter function, and leaves none of its files in the bucket", async () => {
    const services = localServices();
    onTestFinished(services.remove);
    const adapter = "docs/examples/carrier-adapter.mjs";
    const service = await services.start(["--carrier-function", adapter]);
    const { stdout, code } = await service.admin("carrier", "check", "--yes", "--json");
    const { checks, carrier } = JSON.parse(stdout);
    const others = checks.filter(({ status }: Verdict) => status !== "ok").map(({ check }: { check: string }) => check);
    expect([code, carrier, others]).toEqual([
      0,
      "carrier-function",
      ["a PUT that is broken off stores nothing", "it asks for a token"],
    ]);
    expect([...(await service.files()).keys()]).toEqual([]);
  });
});
