import {
  createMemoryHistory,
  createRootRoute,
  createRouter,
  RouterProvider,
} from "@tanstack/react-router";
import { cleanup, configure, render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import type { ReactNode } from "react";
import { afterEach, expect, it, vi } from "vitest";
import type { Step } from "@/api/client";
import { ServiceLog } from "./ServiceLog";
import { StepPanel } from "./StepPanel";

configure({ asyncUtilTimeout: 30_000 });

afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});

const stream = (event: string, data: object) =>
  `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
const line = stream("line", { at: "2026-11-21T12:00:00Z", text: "listening" });

/** A server that gives these answers, one after the other. */
function server(...answers: Response[]) {
  return open(() => <ServiceLog id="d1" service="web" name="cart" />, answers);
}

function open(component: () => ReactNode, answers: Response[]) {
  const fetch = vi.fn(async () => answers.shift() ?? new Response(stream("end", {})));
  vi.stubGlobal("fetch", fetch);
  const history = createMemoryHistory({ initialEntries: ["/"] });
  const router = createRouter({ routeTree: createRootRoute({ component }), history });
  // biome-ignore lint/suspicious/noExplicitAny: a router of this test, not the page's.
  render(<RouterProvider router={router as any} />);
  return fetch;
}

it("says why there is no log, stops, and tries again when somebody wants it", async () => {
  const problem = { status: 503, detail: "node alpha is offline", remedy: "Wait for it." };
  const fetch = server(new Response(stream("error", problem)));
  await screen.findByText(/node alpha is offline Wait for it\./);
  expect(screen.queryByText(/written nothing yet/)).toBeNull();
  await new Promise((resolve) => setTimeout(resolve, 1500));
  expect(fetch).toHaveBeenCalledOnce();
  await userEvent.click(screen.getByRole("button", { name: "Try again" }));
  await screen.findByText("The log is empty.");
  expect(fetch).toHaveBeenCalledTimes(2);
});

it("keeps what was read when the log cannot be read any more", async () => {
  const gone = { title: "Not found", status: 404, detail: "there is no deployment d1" };
  server(new Response(line), Response.json(gone, { status: 404 }));
  await screen.findByText(/there is no deployment d1/);
  expect(screen.getByText("1 line")).toBeTruthy();
  expect(screen.queryByText("The log ends here.")).toBeNull();
});

it("shows what a job wrote after it has ended, from its container", async () => {
  const step = {
    ...{ run: 1, key: "migrate", position: 1, kind: "job", title: "shop-migrate:3", needs: [] },
    ...{ status: "done", lines: 0, started_at: "2026-11-21T12:00:00Z", exit_code: 0 },
    ended_at: "2026-11-21T12:00:03Z",
  } as unknown as Step;
  const panel = () => <StepPanel watch={{} as never} id="d1" run={1} step={step} name="cart" />;
  const fetch = open(panel, [new Response(line + stream("end", {}))]);
  await screen.findByText("1 line");
  expect(String(fetch.mock.calls[0]?.at(0))).toContain("/d1/services/migrate/logs?follow=true");
  expect(screen.getByText("job shop-migrate:3")).toBeTruthy();
  expect(screen.getByText("Done")).toBeTruthy();
});

it("shows what a starting service writes in its step, from before it has a container", async () => {
  const step = {
    ...{ run: 2, key: "web", position: 1, kind: "service", title: "web v1", needs: [] },
    ...{ status: "running", lines: 0, started_at: "2026-11-21T12:00:00Z" },
  } as unknown as Step;
  const panel = () => <StepPanel watch={{} as never} id="d1" run={2} step={step} name="cart" />;
  const started = stream("line", { at: "2026-11-21T12:00:00Z", source: "web", text: "listening" });
  const fetch = open(panel, [new Response(started + stream("end", {}))]);
  await screen.findByText("1 line");
  expect(String(fetch.mock.calls[0]?.at(0))).toContain(
    "/d1/logs?source=web&run=2&follow=true&tail=500",
  );
});

it("does not say again beside a step what the page says above", async () => {
  const step = {
    ...{ run: 1, key: "web", position: 1, kind: "service", title: "web v1", needs: [] },
    ...{ status: "failed", lines: 0, message: "it ended with exit code 7", ended_at: "x" },
  } as unknown as Step;
  const watch = { watched: { logs: {} }, live: { kind: "behind" } } as never;
  const panel = (told: boolean) => () => (
    <StepPanel watch={watch} id="d1" run={1} step={step} name="cart" told={told} />
  );
  open(panel(false), []);
  await screen.findByText(/it ended with exit code 7/);
  cleanup();
  open(panel(true), []);
  await screen.findByRole("heading", { name: "web" });
  expect(screen.queryByText(/it ended with exit code 7/)).toBeNull();
});
