import { expect, it } from "vitest";
import * as z from "zod/mini";
import { documented, named, pageParameters } from "../../../shared/schema/documents.ts";
import { createSwitchRoutes, listSwitchesRoutes } from "../../../shared/switches/routes.ts";

/** Missing and superfluous texts do not compile. `npm run check` verifies the types of this file. */

it("describes every property of a schema and every query parameter of a route, and no other", () => {
  const Account = z.object({ id: z.string(), name: z.string() });
  const docs = { summary: "", description: "", response: {} };
  const compiled = [
    named("Account", "An account.", Account, { id: "The id.", name: "The name." }),
    // @ts-expect-error the text of the name is missing
    named("Account", "An account.", Account, { id: "The id." }),
    // @ts-expect-error an account has no type
    named("Account", "An account.", Account, { id: "The id.", name: "The name.", type: "The type." }),
    documented(createSwitchRoutes.own, docs),
    documented(listSwitchesRoutes.own, {
      ...docs,
      query: { ...pageParameters, include: { account: "its account." } },
    }),
    // @ts-expect-error the texts of its query are missing
    documented(listSwitchesRoutes.own, docs),
    // @ts-expect-error the text of `include=account` is missing
    documented(listSwitchesRoutes.own, { ...docs, query: { ...pageParameters, include: {} } }),
  ];
  expect(compiled).toHaveLength(7);
});
