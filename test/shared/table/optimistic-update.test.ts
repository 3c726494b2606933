import { afterEach, describe, expect, it, vi } from "vitest";
import { optimisticWrite } from "../../../shared/table/optimistic-update.ts";

const updated_at = "2026-11-21T10:00:00.000Z";

afterEach(() => vi.restoreAllMocks());

describe("an optimistic update", () => {
  it("fails with 503 if other writes keep coming first", async () => {
    vi.spyOn(Math, "random").mockReturnValue(0);
    let reads = 0;
    const reread = async () => {
      reads += 1;
      return { version: reads, updated_at };
    };
    const outcome = optimisticWrite(
      { version: 0, updated_at },
      { now: new Date() },
      () => {},
      reread,
      async () => undefined,
    );
    await expect(outcome).rejects.toMatchObject({ status: 503 });
    expect(reads).toBe(12);
  });

  it("checks If-Match against each version that it reads", async () => {
    vi.spyOn(Math, "random").mockReturnValue(0);
    const versions: number[] = [];
    const written = await optimisticWrite(
      { version: 1, updated_at },
      { now: new Date() },
      (version) => void versions.push(version),
      async () => ({ version: 2, updated_at }),
      async (latest) => (latest.version === 2 ? { version: 3, updated_at } : undefined),
    );
    expect([versions, written]).toEqual([[1, 2], { version: 3, updated_at }]);
  });

  it.each([
    ["2026-11-21T10:00:00.000Z", "2026-11-21T10:00:00.001Z"],
    ["2026-11-21T10:00:00.002Z", "2026-11-21T10:00:00.002Z"],
  ])("of a request of %s is made at %s, after the version that it replaces", async (requested, made) => {
    vi.spyOn(Math, "random").mockReturnValue(0);
    const [first, second] = [
      { version: 1, updated_at: "2026-11-20T10:00:00.000Z" },
      { version: 2, updated_at },
    ];
    const origin = { now: new Date(requested), actor: "anyone" };
    const write = vi.fn(async (latest: typeof first) => (latest === second ? latest : undefined));
    const reread = async () => second;
    await optimisticWrite(first, origin, () => {}, reread, write);
    expect(write).toHaveBeenLastCalledWith(second, { ...origin, now: new Date(made) });
  });
});
