// @vitest-environment node
import { afterEach, expect, it, vi } from "vitest";
import { describeError } from "@/components/States";
import { texts } from "@/texts";
import { client, onStepUp, PATIENCE } from "./client";

afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
  onStepUp(undefined);
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

/** A server that refuses the first time until the person has proved who they are. */
function refusesOnce() {
  const bodies: string[] = [];
  vi.stubGlobal("fetch", async (request: Request) => {
    bodies.push(await request.text());
    if (bodies.length > 1) return Response.json({ rotated: 1, left: 0 });
    return Response.json({ title: "Forbidden", code: "step_up_needed" }, { status: 403 });
  });
  return bodies;
}

const deed = () =>
  client.POST("/api/v1/me/step-up", { baseUrl: "http://localhost", body: { code: "123456" } });

it("sends a deed once more after the person has proved who they are", async () => {
  const bodies = refusesOnce();
  onStepUp(async () => true);
  expect((await deed()).response.status).toBe(200);
  expect(bodies).toEqual(['{"code":"123456"}', '{"code":"123456"}']);
});

it("sends nothing more when the person leaves the question", async () => {
  const bodies = refusesOnce();
  onStepUp(async () => false);
  expect((await deed()).response.status).toBe(403);
  expect(bodies).toHaveLength(1);
});
