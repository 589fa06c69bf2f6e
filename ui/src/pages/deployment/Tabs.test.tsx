import {
  createMemoryHistory,
  createRootRoute,
  createRoute,
  createRouter,
  RouterProvider,
} from "@tanstack/react-router";
import { cleanup, render, screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, describe, expect, it } from "vitest";
import { StepTabs } from "./StepTabs";
import { readPageSearch } from "./search";
import { Tabs, useTabKeys } from "./Tabs";

afterEach(cleanup);

/** Both bars of tabs, at an address like the page's. */
async function at(address: string) {
  const root = createRootRoute();
  const page = createRoute({
    getParentRoute: () => root,
    path: "/d/$id/{-$tab}",
    validateSearch: readPageSearch,
    component: function Page() {
      const { tab = "services" } = page.useParams();
      const { show } = page.useSearch();
      useTabKeys(tab);
      return (
        <>
          <Tabs shown={tab} level="full" counts={{ services: 2, history: 3 }} />
          <StepTabs step="seed" show={show} />
          <input data-find aria-label="Find in log" />
        </>
      );
    },
  });
  const history = createMemoryHistory({ initialEntries: [address] });
  const router = createRouter({ routeTree: root.addChildren([page]), history });
  // biome-ignore lint/suspicious/noExplicitAny: a router of this test, not the page's.
  render(<RouterProvider router={router as any} />);
  await screen.findByRole("navigation", { name: "Deployment" });
  return router;
}

const current = (name: string) =>
  [...screen.getByRole("navigation", { name }).querySelectorAll("[aria-current]")].map((one) =>
    one.textContent?.trim(),
  );

describe("the tabs of a deployment", () => {
  it("have exactly one that is current", async () => {
    for (const [address, tab, part] of [
      ["/d/1", "Services 2", "Log"],
      ["/d/1/run", "Run", "Log"],
      ["/d/1/run?step=seed&show=input", "Run", "Input"],
      ["/d/1/run?run=2&step=seed&show=earlier", "Run", "Earlier runs"],
      ["/d/1/logs?log=web&since=3600", "Logs", "Log"],
    ] as const) {
      await at(address);
      expect([current("Deployment"), current("seed")]).toEqual([[tab], [part]]);
      cleanup();
    }
  });

  it("take the run along where it is told of, and leave what is another tab's own", async () => {
    const router = await at("/d/1/logs?run=2&log=web&find=GET");
    const run = screen.getByRole("link", { name: "Run" });
    expect(run.getAttribute("href")).toBe("/d/1/run?run=2");
    await userEvent.keyboard("4");
    await waitFor(() => expect(router.state.location.pathname).toBe("/d/1/metrics"));
    expect(router.state.location.searchStr).toBe("");
  });

  it("have keys in their order, and one for the search of the log", async () => {
    const router = await at("/d/1");
    for (const [key, tab] of [
      ["1", "run"],
      ["3", "logs"],
      ["6", "details"],
      ["7", "history"],
    ] as const) {
      await userEvent.keyboard(key);
      await waitFor(() => expect(router.state.location.pathname).toBe(`/d/1/${tab}`));
    }
    await userEvent.keyboard("/");
    expect(document.activeElement).toBe(screen.getByLabelText("Find in log"));
    await userEvent.keyboard("{Tab}l");
    await waitFor(() => expect(router.state.location.pathname).toBe("/d/1/logs"));
  });
});
