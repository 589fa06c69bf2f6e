import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import {
  createMemoryHistory,
  createRootRoute,
  createRouter,
  RouterProvider,
} from "@tanstack/react-router";
import { cleanup, render, screen } from "@testing-library/react";
import { afterEach, expect, it, vi } from "vitest";
import { deployment } from "../components/examples";
import { ServiceRows } from "./Services";

afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});

const [web] = deployment("ready").services;
const row = (health: string, detail?: string) => ({ ...web, step: health, health, detail });

function draw(...services: object[]) {
  vi.stubGlobal("fetch", () => new Promise(() => undefined));
  const shown = { ...deployment("ready"), services } as ReturnType<typeof deployment>;
  const component = () => (
    <QueryClientProvider client={new QueryClient()}>
      <ServiceRows deployment={shown} logs />
    </QueryClientProvider>
  );
  const history = createMemoryHistory({ initialEntries: ["/"] });
  const router = createRouter({ routeTree: createRootRoute({ component }), history });
  // biome-ignore lint/suspicious/noExplicitAny: a router of this test, not the page's.
  render(<RouterProvider router={router as any} />);
}

it("says why a service is not well below its state, and nothing below one that is", async () => {
  draw(row("unhealthy", "GET /healthz answered 503"), row("healthy", "GET /healthz answered 200"));
  expect(await screen.findByText("GET /healthz answered 503")).toBeTruthy();
  expect(screen.queryByText("GET /healthz answered 200")).toBeNull();
});

it("says of one that has ended that it is done, and does not open it", async () => {
  draw({ ...row("healthy"), ended: true });
  expect(await screen.findByText("Done")).toBeTruthy();
  expect(screen.queryByText("Healthy")).toBeNull();
  expect(screen.queryByRole("link", { name: "Open healthy" })).toBeNull();
});

it("leads from each service to its log, its curves and a terminal in it", async () => {
  draw(row("healthy"));
  for (const name of ["Log of healthy", "Metrics of healthy", "Terminal in healthy"]) {
    const link = await screen.findByRole("link", { name });
    expect(link.getAttribute("href")).toContain("log=healthy");
  }
});
