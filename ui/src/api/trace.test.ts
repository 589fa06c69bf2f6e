// @vitest-environment jsdom
import { afterEach, expect, it, vi } from "vitest";
import { client } from "./client";
import { traceDeeds } from "./trace";

afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

it("gives what a person asks for the trace of what they did, and nothing what the page does alone", async () => {
  let now = 1_000;
  vi.spyOn(performance, "now").mockImplementation(() => now);
  const sent: (string | null)[] = [];
  vi.stubGlobal("fetch", async (request: Request) => {
    sent.push(request.headers.get("traceparent"));
    return Response.json({});
  });
  const ask = () => client.GET("/api/v1/me", { baseUrl: "http://localhost" });
  const added = vi.spyOn(window, "addEventListener");
  traceDeeds();
  await ask();
  await ask();
  window.dispatchEvent(new Event("pointerdown"));
  await ask();
  now += 60_000;
  await ask();
  window.dispatchEvent(new Event("keydown"));
  await ask();
  const [opened, again, clicked, alone, typed] = sent;
  expect(opened).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/);
  expect(again).toBe(opened);
  expect(alone).toBeNull();
  expect(new Set([opened, clicked, typed, null]).size).toBe(4);
  for (const [deed, listener] of added.mock.calls)
    window.removeEventListener(deed, listener as EventListener, true);
});
