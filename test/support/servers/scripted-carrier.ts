import { createServer } from "node:http";
import { text } from "node:stream/consumers";
import { listen } from "../../../infra/local/listen.ts";

export type CarrierResponse = number | readonly [status: number, headers: Record<string, string>, body?: string];

/** A carrier, or Lambda with an adapter function, that stores nothing. The test chooses each response. */
export const scriptedCarrier = async () => {
  /** The idempotency keys of all calls. */
  const keys: (string | undefined)[] = [];
  let respond: (call: string) => CarrierResponse | Promise<CarrierResponse> = () => 599;
  const { url, close } = await listen(
    createServer(async (incoming, outgoing) => {
      const { method, url: path = "" } = incoming;
      // A call that Patchbay cuts off because its file is not the uploaded one gets no response.
      if ((await text(incoming).catch(() => undefined)) === undefined) return outgoing.destroy();
      keys.push(incoming.headers["idempotency-key"]?.toString());
      const response = await respond(method === "GET" ? "GET cart" : `${method} ${path.split("/").at(-1)}`);
      const [status, headers, answer = undefined] = typeof response === "number" ? [response, {}] : response;
      // A success without a body is empty, because a page would be nobody's word. A 422 is a refusal.
      const words = status === 422 ? '{"reason":"why"}' : "why";
      outgoing.writeHead(status, headers).end(answer ?? (status < 300 ? "" : words));
    }),
  );
  return {
    url,
    close,
    keys,
    respondWith: (response: typeof respond) => {
      respond = response;
    },
    /** Responds to each call with the next response. Returns the calls, each as its method and the end of its path. */
    respondInTurn: (...responses: readonly CarrierResponse[]): readonly string[] => {
      const left = [...responses];
      const calls: string[] = [];
      respond = (call) => {
        calls.push(call);
        return left.shift() ?? 599;
      };
      return calls;
    },
  };
};
