import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, render, screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import type { ReactNode } from "react";
import { afterEach, expect, it, vi } from "vitest";
import { client, type NodeInfo } from "@/api/client";
import { deployments } from "@/api/queries/deployments";
import { nodeTexts } from "@/nodeTexts";
import { NodePage } from "./NodePage";

const shown = vi.hoisted(() => ({ name: "fra-01" }));

vi.mock("@tanstack/react-router", async (original) => ({
  ...(await original<typeof import("@tanstack/react-router")>()),
  Link: ({ children }: { children: ReactNode }) => <span>{children}</span>,
  useNavigate: () => () => undefined,
  useSearch: () => ({}),
  getRouteApi: () => ({ useParams: () => shown }),
}));
vi.mock("@/api/useLive", () => ({ useLive: () => ({ kind: "live", since: 0 }) }));

afterEach(() => {
  cleanup();
  vi.restoreAllMocks();
});

const node = (name: string): NodeInfo => ({
  name,
  environment: "qa",
  address: "10.20.4.14:5000",
  status: "online",
  since: "2026-11-21T12:00:00Z",
  enabled: true,
  revocation_pending: false,
  allocated: {},
  deployments: 0,
});

it("says in the question whom it would interrupt", async () => {
  vi.spyOn(client, "GET").mockReturnValue(new Promise(() => undefined) as never);
  const cache = new QueryClient();
  cache.setQueryData(["node", "fra-01"], node("fra-01"));
  const visitors = [
    { kind: "person", name: "lena", visitors: 1, last_seen: new Date().toISOString() },
  ];
  const one = { id: "a", name: "cart", node: "fra-01", status: "ready", visitors };
  const elsewhere = { ...one, id: "b", name: "shop", node: "fra-02" };
  cache.setQueryData(deployments.queryKey, [one, elsewhere] as never);
  render(
    <QueryClientProvider client={cache}>
      <NodePage />
    </QueryClientProvider>,
  );
  await userEvent.click(screen.getByRole("button", { name: nodeTexts.disable }));
  const said = document.querySelector('[role="alertdialog"], dialog, [role="dialog"]')?.textContent;
  expect(said).toMatch(/cart: lena/);
  expect(said).not.toMatch(/shop/);
  const post = vi.spyOn(client, "POST").mockReturnValue(new Promise(() => undefined) as never);
  const dialog = document.querySelector<HTMLElement>(
    '[role="alertdialog"], dialog, [role="dialog"]',
  );
  await userEvent.click(
    within(dialog as HTMLElement).getByRole("button", { name: nodeTexts.disable }),
  );
  expect(post.mock.calls[0]?.[1]).toMatchObject({ params: { query: { anyway: true } } });
});

it("takes no question about one node along to another", async () => {
  vi.spyOn(client, "GET").mockReturnValue(new Promise(() => undefined) as never);
  const cache = new QueryClient();
  for (const name of ["fra-01", "fra-02"]) cache.setQueryData(["node", name], node(name));
  const page = () => (
    <QueryClientProvider client={cache}>
      <NodePage />
    </QueryClientProvider>
  );
  const { rerender } = render(page());
  await userEvent.click(screen.getByRole("button", { name: nodeTexts.disable }));
  expect(screen.getByText(nodeTexts.disableTitle("fra-01"))).toBeTruthy();
  shown.name = "fra-02";
  rerender(page());
  expect(screen.getByRole("heading", { level: 1 }).textContent).toBe("fra-02");
  expect(screen.queryByText(nodeTexts.disableTitle("fra-02"))).toBeNull();
});

it.each([
  ["online", 0],
  ["offline", 1],
] as const)("offers to give up what is %s %i times", (status, times) => {
  vi.spyOn(client, "GET").mockReturnValue(new Promise(() => undefined) as never);
  const cache = new QueryClient();
  shown.name = "fra-03";
  cache.setQueryData(["node", "fra-03"], { ...node("fra-03"), status, deployments: 2 });
  render(
    <QueryClientProvider client={cache}>
      <NodePage />
    </QueryClientProvider>,
  );
  expect(screen.getByRole("button", { name: nodeTexts.revoke })).toBeTruthy();
  expect(screen.queryAllByRole("button", { name: nodeTexts.forget })).toHaveLength(times);
});
