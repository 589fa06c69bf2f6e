import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, render, screen } from "@testing-library/react";
import { afterEach, expect, it, vi } from "vitest";
import { client, type Deployment } from "@/api/client";
import { deployments } from "@/api/queries/deployments";
import { ListNotices } from "./ListNotices";

afterEach(() => {
  cleanup();
  vi.restoreAllMocks();
});

function show(cache: QueryClient, all: Deployment[]) {
  render(
    <QueryClientProvider client={cache}>
      <ListNotices all={all} />
    </QueryClientProvider>,
  );
  return screen.queryAllByRole("status").map((one) => one.textContent);
}

it("leaves out no machine that is out of reach", () => {
  const on = (node: string) =>
    ({ id: node, node, node_offline_since: "2026-11-21T12:00:00Z" }) as Deployment;
  expect(show(new QueryClient(), ["a", "b", "b", "c"].map(on))).toHaveLength(3);
  cleanup();
  const said = show(new QueryClient(), ["a", "b", "c", "d", "d"].map(on));
  expect(said).toHaveLength(1);
  expect(said[0]).toMatch(/4 nodes offlinea, b, c, d. 5 deployments can't be reached/);
});

it.each([
  ["there are more than are read", "more", /Only the newest 20 deployments were loaded/],
  ["that is all", undefined, undefined],
])("says so when %s", async (_, next_cursor, said) => {
  const response = new Response(null, { status: 200 });
  let id = 0;
  vi.spyOn(client, "GET").mockImplementation((async () => ({
    data: { items: [{ id: `${id++}` }], next_cursor },
    response,
  })) as unknown as typeof client.GET);
  const cache = new QueryClient();
  const all = await cache.fetchQuery(deployments);
  const notices = show(cache, all);
  if (said) expect(notices[0]).toMatch(said);
  else expect(notices).toEqual([]);
});
