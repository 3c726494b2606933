import { afterEach, describe, expect, it, vi } from "vitest";
import { optimisticWrite } from "../../../shared/table/optimistic-update.ts";

afterEach(() => vi.restoreAllMocks());

describe("an optimistic update", () => {
  it("fails with 503 if other writes keep coming first", async () => {
    vi.spyOn(Math, "random").mockReturnValue(0);
    let reads = 0;
    const reread = async () => {
      reads += 1;
      return { version: reads };
    };
    const outcome = optimisticWrite(
      { version: 0 },
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
      { version: 1 },
      (version) => void versions.push(version),
      async () => ({ version: 2 }),
      async (latest) => (latest.version === 2 ? { version: 3 } : undefined),
    );
    expect([versions, written]).toEqual([[1, 2], { version: 3 }]);
  });
});
