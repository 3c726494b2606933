import { isFree } from "./listen.ts";

/** The services beside the gateway, in the order of the ports that follow its own. */
const services = ["carrier", "events", "lambda", "workflow", "table", "files"] as const;

/** The same ports for each start keep signed URLs and stored addresses valid. One in use is replaced by any free one (0). */
export const portsBeside = async (gateway: number) => {
  const chosen = services.map(async (service, index) => {
    const port = gateway === 0 ? 0 : gateway + 1 + index;
    return { service, port, isUsable: port <= 65_535 && (await isFree("127.0.0.1", port)) };
  });
  const all = await Promise.all(chosen);
  return {
    portOf: (name: (typeof services)[number]): number =>
      all.find(({ service, isUsable }) => isUsable && service === name)?.port ?? 0,
    replaced: all.filter(({ isUsable }) => !isUsable),
  };
};
