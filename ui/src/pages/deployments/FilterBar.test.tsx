import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import {
  createMemoryHistory,
  createRootRoute,
  createRoute,
  createRouter,
  Outlet,
  RouterProvider,
} from "@tanstack/react-router";
import { act, cleanup, render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, expect, it, vi } from "vitest";
import type { Deployment } from "@/api/client";
import { FilterBar } from "./FilterBar";
import { type Filters, readFilters } from "./filters";

afterEach(() => {
  cleanup();
  localStorage.clear();
});

const make = (name: string, created_by: string, environment: string) =>
  ({
    name,
    created_by,
    environment,
    project: "shop",
    status: "ready",
    versions: [],
    services: [],
  }) as unknown as Deployment;
const all = [make("cart", "lena", "qa"), make("pay", "lena", "eu"), make("zap", "aiko", "qa")];

/** The bar at an address, with a router of the same shape as ours. */
async function show(search: string) {
  const root = createRootRoute({ component: Outlet });
  const app = createRoute({ getParentRoute: () => root, id: "app", component: Outlet });
  const list = createRoute({
    getParentRoute: () => app,
    path: "/deployments",
    validateSearch: (raw: Record<string, unknown>): Filters => readFilters(raw),
    component: () => <FilterBar read={all} filters={list.useSearch()} user="lena" />,
  });
  const history = createMemoryHistory({ initialEntries: [`/deployments${search}`] });
  const routeTree = root.addChildren([app.addChildren([list])]);
  const router = createRouter({ routeTree, history });
  const cache = new QueryClient({ defaultOptions: { queries: { staleTime: Infinity } } });
  cache.setQueryData(["environments"], [{ name: "empty" }, { name: "qa" }]);
  cache.setQueryData(["projects"], [{ name: "bank" }]);
  await act(async () =>
    render(
      <QueryClientProvider client={cache}>
        <RouterProvider router={router as never} />
      </QueryClientProvider>,
    ),
  );
  await screen.findByRole("navigation", { name: "Views" });
  return history;
}

const tabs = () => screen.getAllByRole("link").map((tab) => tab.textContent);
const current = () =>
  screen
    .getAllByRole("link")
    .filter((tab) => tab.hasAttribute("aria-current"))
    .map((tab) => tab.textContent?.replace(/[\s\d]+$/, ""));

it.each([
  ["", "All"],
  ["?view=mine", "Mine"],
  ["?view=attention&env=qa", "Needs attention"],
  ["?view=removed", "Removed"],
  ["?env=qa", "All"],
])("at %s one view is current: %s", async (search, name) => {
  await show(search);
  expect(current()).toEqual([name]);
});

it("a saved view is the only current one when it shows just this, and none that shows more", async () => {
  const views = [
    { name: "On qa", filters: { env: "qa" } },
    { name: "Mine on qa", filters: { view: "mine", env: "qa" } },
  ];
  localStorage.setItem("nullops.views.lena", JSON.stringify(views));
  await show("?view=mine&env=qa");
  expect(current()).toEqual(["Mine on qa"]);
});

it("counts what each view would show with the filters it keeps", async () => {
  await show("?env=qa");
  expect(tabs()).toEqual(["All 2", "Mine 1", "Needs attention 0", "Removed "]);
});

it("clears the filters, and keeps the view", async () => {
  const history = await show("?view=mine&env=qa&q=cart");
  await userEvent.click(screen.getByRole("button", { name: "Clear the filters" }));
  expect(history.location.search).toBe("?view=mine");
  expect(screen.queryByRole("button", { name: "Clear the filters" })).toBeNull();
});

it("offers what the catalogue has, also where nothing is listed of it", async () => {
  await show("");
  const of = (label: string) =>
    [...(screen.getByLabelText(label) as HTMLSelectElement).options].map((one) => one.value);
  expect(of("Environment")).toEqual(["", "empty", "eu", "qa"]);
  expect(of("Project")).toEqual(["", "bank", "shop"]);
});

it("gives the focus to the view that was saved, and to what is shown when it is dropped", async () => {
  await show("?env=qa");
  await userEvent.click(screen.getByRole("button", { name: "Save these filters as a view" }));
  await screen.findByLabelText("Name of the view");
  await userEvent.keyboard("{Escape}");
  expect(document.activeElement).toBe(
    screen.getByRole("button", { name: "Save these filters as a view" }),
  );
  await userEvent.keyboard("{Enter}");
  await userEvent.keyboard("On qa{Enter}");
  expect(document.activeElement?.textContent).toBe("On qa 2");
  await userEvent.click(screen.getByRole("button", { name: "Delete the view On qa" }));
  expect(document.activeElement?.textContent).toBe("All 2");
});

it("the name is saved with a press too", async () => {
  await show("?env=qa");
  await userEvent.click(screen.getByRole("button", { name: "Save these filters as a view" }));
  await userEvent.keyboard("On qa");
  await userEvent.click(screen.getByRole("button", { name: "Save" }));
  expect(document.activeElement?.textContent).toBe("On qa 2");
});

it("says why no further view is saved", async () => {
  const views = Array.from({ length: 12 }, (_, i) => ({ name: `v${i}`, filters: { q: `${i}` } }));
  localStorage.setItem("nullops.views.lena", JSON.stringify(views));
  await show("?env=qa");
  await userEvent.click(screen.getByRole("button", { name: "Save these filters as a view" }));
  expect(screen.getByRole("tooltip").textContent).toMatch(/12 saved views.*Delete one first/);
  expect(screen.queryByLabelText("Name of the view")).toBeNull();
});

it("the caret stays in the middle of a word that is changed", async () => {
  const history = await show("?q=cart");
  const find = screen.getByRole("searchbox") as HTMLInputElement;
  await userEvent.type(find, "x", { initialSelectionStart: 2, initialSelectionEnd: 2 });
  expect([find.value, find.selectionStart]).toEqual(["caxrt", 3]);
  await vi.waitFor(() => expect(history.location.search).toBe("?q=caxrt"));
});
