import { startGateway } from "../../../infra/local/gateway.ts";
import { routes } from "../../../shared/routes.ts";

/** The gateway and the functions in a process of their own, to be killed; its first line says where it is. */
const load = async (name: string) => [name, (await import(`../../../functions/${name}.ts`)).handler] as const;
const handlers = new Map(await Promise.all(routes.map(({ name }) => load(name))));
const { url } = await startGateway({ routes, load: ({ name }) => handlers.get(name), port: 0 });
console.log(url);
