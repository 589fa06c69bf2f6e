import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, render, screen } from "@testing-library/react";
import type { ReactNode } from "react";
import { afterEach, expect, it, vi } from "vitest";
import { client } from "@/api/client";
import { environmentTexts as t } from "@/pages/environments/environmentTexts";
import { Environments } from "./Environments";

vi.mock("@tanstack/react-router", async (original) => ({
  ...(await original<typeof import("@tanstack/react-router")>()),
  Link: ({ to, search, children }: { to: string; search: object; children: ReactNode }) => (
    <a href={`${to}?${JSON.stringify(search)}`}>{children}</a>
  ),
  useNavigate: () => () => undefined,
  useSearch: () => ({}),
}));

afterEach(() => {
  cleanup();
  vi.restoreAllMocks();
});

async function count(role: "admin" | "user") {
  const qa = { name: "qa", url_suffix: "qa.localhost", nodes: 3, nodes_online: 2 };
  vi.spyOn(client, "GET").mockImplementation((async () => ({
    data: { items: [qa] },
    response: new Response(),
  })) as never);
  const cache = new QueryClient({ defaultOptions: { queries: { staleTime: 60_000 } } });
  cache.setQueryData(["me"], { name: "ada", role });
  render(
    <QueryClientProvider client={cache}>
      <Environments />
    </QueryClientProvider>,
  );
  return screen.findByText(t.nodes(2, 3));
}

it("leads from the count of nodes to those, and nobody to a page that is not for them", async () => {
  expect((await count("admin")).getAttribute("href")).toBe('/nodes?{"env":"qa"}');
  cleanup();
  expect((await count("user")).tagName).not.toBe("A");
});
