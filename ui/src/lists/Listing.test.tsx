import type { UseQueryResult } from "@tanstack/react-query";
import {
  createMemoryHistory,
  createRootRoute,
  createRouter,
  RouterProvider,
} from "@tanstack/react-router";
import { act, cleanup, render, screen } from "@testing-library/react";
import { afterEach, expect, it } from "vitest";
import { Listing } from "./Listing";
import { readListSearch } from "./listSearch";

afterEach(cleanup);

async function show(below?: string) {
  const page = () => (
    <Listing
      title="Things"
      query={{ data: ["first"] } as UseQueryResult<string[]>}
      rowKey={(row) => row}
      columns={[{ head: "Name", cell: (row) => row }]}
      text={(row) => row}
      unread="unread"
      emptyTitle="empty"
      empty="empty"
      below={below ? <p>{below}</p> : undefined}
    />
  );
  const router = createRouter({
    routeTree: createRootRoute({ component: page, validateSearch: readListSearch }),
    history: createMemoryHistory({ initialEntries: ["/"] }),
  });
  await act(async () => render(<RouterProvider router={router as never} />));
}

const scrollsSideways = (text: string) => screen.getByText(text).closest(".tblf") !== null;

it("scrolls its table sideways, and not what stands below it", async () => {
  await show("Budgets");
  expect(scrollsSideways("first")).toBe(true);
  expect(scrollsSideways("Budgets")).toBe(false);
});

it("scrolls its table sideways where nothing stands below it", async () => {
  await show();
  expect(scrollsSideways("first")).toBe(true);
});
