import { collections } from "../../../shared/table/keys.ts";
import { keysOf, usersOf } from "../cli/lookups.ts";
import { accountsById, maxShown, newestOf, type Section } from "../cli/section.ts";
import { listedOrders } from "../orders/orders.ts";
import { keyRow } from "./keys.ts";
import { switchesOf, switchRow } from "./switches.ts";
import { userRow } from "./users.ts";

/** The lists of an account's page. Each has the first rows of a command. */

/** The accounts directly below an account. Those below null are the root accounts. */
export const accountsSection = async (parent: string | null): Promise<Section> => {
  const { ids, total } = await newestOf(collections.childAccounts(parent));
  const rows = (await accountsById(ids)).map(({ id, name }) => ({ id, name }));
  const rest = parent === null ? "account list" : `account list --account ${parent}`;
  return { title: parent === null ? "Newest first" : "Accounts below it", of: "account", rows, total, rest };
};

export const accountSections = async (id: string): Promise<Section[]> => {
  const orders = await newestOf(collections.accountOrders(id));
  const switches = (await Array.fromAsync(switchesOf(id))).reverse();
  const keys = (await keysOf(id)).reverse();
  const users = (await usersOf(id)).reverse();
  const of = (type: string) => ({ of: type, rest: `${type.replace("api_", "")} list --account ${id}` });
  return [
    { title: "Orders", ...of("order"), rows: await listedOrders(orders.ids, { json: true }), total: orders.total },
    await accountsSection(id),
    {
      title: "Switches of it and of the accounts below it",
      ...of("switch"),
      rows: switches.slice(0, maxShown).map(switchRow),
      total: switches.length,
    },
    {
      title: "API keys",
      ...of("api_key"),
      rows: await Promise.all(keys.slice(0, maxShown).map(keyRow)),
      total: keys.length,
    },
    { title: "Users", ...of("user"), rows: users.slice(0, maxShown).map(userRow), total: users.length },
  ];
};
