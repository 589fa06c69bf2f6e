import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import {
  createMemoryHistory,
  createRootRoute,
  createRouter,
  RouterProvider,
} from "@tanstack/react-router";
import { cleanup, render, screen } from "@testing-library/react";
import type { ReactElement } from "react";
import { afterEach, expect, it, vi } from "vitest";
import { LogView } from "@/components/LogView";
import { listPageActions } from "@/components/pageActions";
import { deployment } from "../components/examples";
import Terminal from "./Terminal";

afterEach(cleanup);

async function show(element: ReactElement) {
  const component = () => (
    <QueryClientProvider client={new QueryClient()}>{element}</QueryClientProvider>
  );
  const history = createMemoryHistory({ initialEntries: ["/"] });
  const router = createRouter({ routeTree: createRootRoute({ component }), history });
  // biome-ignore lint/suspicious/noExplicitAny: a router of this test, not the page's.
  render(<RouterProvider router={router as any} />);
}

const labels = () => listPageActions().map((one) => one.label);

it("all of a log can be downloaded from the palette", async () => {
  const whole = { address: "#all", label: "Download all" };
  await show(<LogView label="Logs" lines={[]} empty="No line." name="shop" whole={whole} />);
  const link = await screen.findByRole("link", { name: "Download all" });
  expect(screen.queryByRole("button", { name: /^Download/ })).toBeNull();
  expect(labels()).toEqual(["Download all"]);
  const pressed = vi.fn();
  link.addEventListener("click", pressed);
  listPageActions()[0]?.run();
  expect(pressed).toHaveBeenCalledOnce();
});

it("a terminal can be opened from the palette, in the service that the address names", async () => {
  const made = deployment("ready");
  const services = ["api", "web"].map((step) => ({ ...made.services[0], step }));
  await show(<Terminal deployment={{ ...made, services } as typeof made} chosen="web" />);
  const service = (await screen.findByLabelText("Service")) as HTMLSelectElement;
  expect(service.value).toBe("web");
  expect(labels()).toEqual(["Open terminal"]);
});
