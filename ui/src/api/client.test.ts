// @vitest-environment node
import { afterEach, expect, it, vi } from "vitest";
import { describeError } from "@/components/States";
import { texts } from "@/texts";
import { client, PATIENCE } from "./client";

afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
});

it("gives up on a server that says nothing, and says that what was asked may be done", async () => {
  const time = new AbortController();
  const timeout = vi.spyOn(AbortSignal, "timeout").mockReturnValue(time.signal);
  const answers = (_: Request, { signal }: RequestInit) =>
    new Promise((_, reject) => {
      if (signal?.aborted) reject(signal.reason);
      signal?.addEventListener("abort", () => reject(signal.reason));
    });
  vi.stubGlobal("fetch", vi.fn(answers));
  const asked = client.GET("/api/v1/me", { baseUrl: "http://localhost" });
  time.abort(new DOMException("late", "TimeoutError"));
  const error = await asked.catch((thrown: unknown) => thrown);
  expect(timeout).toHaveBeenCalledWith(PATIENCE);
  expect(describeError(error).message).toBe(texts.lateAnswer);
  expect(describeError(new TypeError("fetch failed")).message).toBe(texts.noAnswer);
});
