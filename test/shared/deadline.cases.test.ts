import { afterEach, describe, expect, it, vi } from "vitest";
import { cleanUp, limitAttempt, limitCall, remainingMs, withDeadline } from "../../shared/deadline.ts";

afterEach(() => void vi.restoreAllMocks());

describe("a deadline", () => {
  it("is six seconds before the function's timeout, and four more for what must follow a failed call", async () => {
    vi.spyOn(performance, "now").mockReturnValue(1_000);
    const both = async () => [remainingMs(), await cleanUp(async () => remainingMs())];
    expect(await both()).toEqual([Infinity, Infinity]);
    expect(await withDeadline(10_000, both)).toEqual([4_000, 4_000]);
    expect(await withDeadline(29_000, both)).toEqual([23_000, 4_000]);
  });

  const contextOf = () => ({ clientName: "DynamoDBClient", commandName: "GetItemCommand" });
  const late = { name: "TimeoutError", message: "The request's deadline has passed." };

  it("ends a call and its attempts, whose number is in the error", async () => {
    const context = contextOf();
    const attempt = limitAttempt(() => Promise.reject(new Error("injected")), context);
    const twice = limitCall(() => attempt({}).catch(() => attempt({})), context);
    await expect(twice({})).rejects.toMatchObject({ message: "injected", call: "dynamodb GetItem", attempts: 2 });
    const never = limitCall(() => new Promise(() => undefined), contextOf());
    await expect(withDeadline(6_010, () => never({}))).rejects.toMatchObject({ ...late, attempts: 0 });
  });

  it("leaves no timer behind for a call that has ended", async () => {
    const timers = () => process.getActiveResourcesInfo().filter((resource) => resource === "Timeout").length;
    const before = timers();
    const during = await withDeadline(29_000, () => limitCall(async () => timers(), contextOf())({}));
    expect([during - before, timers() - before]).toEqual([1, 0]);
  });

  it("that has passed lets no call and no attempt start", async () => {
    vi.spyOn(performance, "now").mockReturnValue(1_000);
    const send = vi.fn(async () => undefined);
    for (const limit of [limitCall, limitAttempt])
      await expect(withDeadline(6_000, () => limit(send, contextOf())({}))).rejects.toMatchObject(late);
    expect(send).not.toHaveBeenCalled();
    await withDeadline(6_001, () => limitAttempt(send, contextOf())({}));
    expect(send).toHaveBeenCalledOnce();
  });
});
