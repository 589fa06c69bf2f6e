import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import {
  createMemoryHistory,
  createRootRoute,
  createRouter,
  RouterProvider,
} from "@tanstack/react-router";
import { cleanup, render, screen } from "@testing-library/react";
import { afterEach, expect, it } from "vitest";
import type { Schemas } from "@/api/client";
import { AlertItem } from "./AlertItem";

afterEach(cleanup);

const offline: Schemas["Alert"] = {
  id: "1",
  condition: "node.offline",
  severity: "critical",
  subject: "alpha",
  summary: "Node alpha is offline.",
  remedy: "Check that the machine runs.",
  link: "/nodes/alpha",
  started_at: "2026-11-26T10:00:00Z",
  can_change: true,
};

function show(alert: Schemas["Alert"]) {
  const router = createRouter({
    routeTree: createRootRoute({ component: () => <AlertItem alert={alert} /> }),
    history: createMemoryHistory(),
  });
  render(
    <QueryClientProvider client={new QueryClient()}>
      <RouterProvider router={router as never} />
    </QueryClientProvider>,
  );
}

it("says what is wrong and what to do, and leads there", async () => {
  show(offline);
  const link = await screen.findByRole("link", { name: "Node alpha is offline." });
  expect(link.getAttribute("href")).toBe("/nodes/alpha");
  screen.getByText(/Check that the machine runs/);
  screen.getByRole("button", { name: "Acknowledge" });
  screen.getByRole("combobox", { name: /Silence/ });
});

it("says who looks after it and until when it is silent, and offers to end that", async () => {
  show({
    ...offline,
    acknowledged_by: "ada",
    silenced_by: "bob",
    silenced_until: "2035-01-01T00:00:00Z",
  });
  await screen.findByText(/ada looks after it/);
  screen.getByText(/bob silenced it/);
  screen.getByRole("button", { name: "End the silence" });
  expect(screen.queryByRole("button", { name: "Acknowledge" })).toBeNull();
});

it("offers nothing where nothing may be done", async () => {
  show({ ...offline, can_change: false, ended_at: "2026-11-26T11:00:00Z" });
  await screen.findByRole("link", { name: "Node alpha is offline." });
  expect(screen.queryByRole("button")).toBeNull();
});
