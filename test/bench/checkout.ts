import { interleaved, median, round, type Section } from "./figures.ts";
import { benchService } from "./service.ts";

/** The delay of each call to the carrier, which is a slow one, and to AWS, as within a region. */
const carrierMs = 250;
const latencyMs = 3;

/** The number of an order's requests, and of the files of each. The others are compared with the first. */
const shapes = [
  { requests: 1, files: 8 },
  { requests: 8, files: 1, target: 1.3 },
  { requests: 64, files: 1 },
] as const;

type Shape = (typeof shapes)[number];

const nameOf = ({ requests, files }: Shape) => `requests: ${requests}, files of each: ${files}`;

/** Measures whole checkouts with a slow carrier, from the start of the first step to the end of the last one. */
export const checkout = async (repetitions: number): Promise<Section> => {
  const service = await benchService(latencyMs);
  process.env.PATCHBAY_URL = service.url;
  const fault = { method: "GET|PUT|POST|DELETE", action: "delay", delay_ms: carrierMs, times: 1_000_000 };
  await fetch(`${service.environment.CARRIER_URL}/faults`, { method: "POST", body: JSON.stringify(fault) });
  // These are imported only after the environment has the addresses.
  const { steps } = await import("../../shared/checkout/steps.ts");
  const { newOrder } = await import("../support/fixtures/orders.ts");
  const { addMessagingNumbers } = await import("../support/fixtures/tenants.ts");
  const { checkOut } = await import("../support/servers/workflow.ts");
  const run = async ({ requests, files }: Shape) => {
    const order = await newOrder(...Array<string>(requests).fill(addMessagingNumbers));
    for (let nth = 0; nth < requests * files; nth += 1) await order.attach(nth % requests);
    let ended = 0;
    const end = async () => {
      ended = performance.now();
    };
    const after = Object.fromEntries(steps.map(({ name }) => [name, Array<typeof end>(1_000).fill(end)]));
    const started = performance.now();
    const { status, cause } = await checkOut(order.id, { after });
    if (status !== "SUCCEEDED") throw new Error(`the checkout of ${requests} requests ended as ${status}: ${cause}`);
    return ended - started;
  };
  // The first run loads modules and opens connections.
  await run(shapes[0]);
  const times = await interleaved(
    Object.fromEntries(shapes.map((shape) => [nameOf(shape), () => run(shape)])),
    repetitions,
  );
  await service.close();
  const msOf = (shape: Shape) => median(times.get(nameOf(shape)) ?? []);
  return {
    title: `Checkout, ${carrierMs} ms from the carrier: medians of ${repetitions}`,
    notes: [`A whole checkout, with ${latencyMs} ms added to each call to AWS, compared with that of one request.`],
    rows: shapes.map((shape) => ({
      requests: shape.requests,
      "files of each": shape.files,
      s: round(msOf(shape) / 1000),
      ratio: round(msOf(shape) / msOf(shapes[0])),
      target: "target" in shape ? shape.target : "",
    })),
  };
};
