import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, render, screen } from "@testing-library/react";
import type { ReactNode } from "react";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { client, type NodeInfo } from "@/api/client";
import { machineTexts } from "@/pages/nodes/machineTexts";
import { Nodes } from "./Nodes";

const address = vi.hoisted(() => ({ search: {} as Record<string, string> }));

vi.mock("@tanstack/react-router", async (original) => ({
  ...(await original<typeof import("@tanstack/react-router")>()),
  Link: ({ children }: { children: ReactNode }) => <span>{children}</span>,
  useNavigate: () => () => undefined,
  useSearch: () => address.search,
}));
vi.mock("@/api/useLive", () => ({ useLive: () => ({ kind: "live", since: 0 }) }));

const node = (name: string, more: Partial<NodeInfo> = {}): NodeInfo => ({
  name,
  environment: "qa",
  address: `${name}:5000`,
  status: "online",
  since: "2026-11-21T12:00:00Z",
  enabled: true,
  revocation_pending: false,
  allocated: {},
  deployments: 0,
  build: "1.0",
  ...more,
});

const all = [
  node("well"),
  node("away", { status: "offline" }),
  node("unsafe", { blocked: "Services can't be isolated." }),
  node("live", { environment: "prod" }),
];

const lost = {
  name: "burnt",
  environment: "qa",
  address: "10.0.0.9:5000",
  by: "ada",
  at: "2026-11-20T12:00:00Z",
  left: [{ id: "1", name: "cart", project: "shop", status: "forgotten", what: ["volume db/data"] }],
};

const answers: Record<string, unknown> = {
  "/api/v1/me": { name: "ada", role: "admin" },
  "/api/v1/nodes": { items: all },
  "/api/v1/version": { build: "1.0" },
  "/api/v1/forgotten-nodes": { items: [lost] },
};

beforeEach(() => {
  vi.spyOn(client, "GET").mockImplementation((async (path: string) => ({
    data: answers[path],
    response: new Response(),
  })) as never);
});

afterEach(() => {
  cleanup();
  vi.restoreAllMocks();
});

async function names(search: Record<string, string>) {
  address.search = search;
  const cache = new QueryClient();
  cache.setQueryData(["me"], answers["/api/v1/me"]);
  const { unmount } = render(
    <QueryClientProvider client={cache}>
      <Nodes />
    </QueryClientProvider>,
  );
  await screen.findByText(machineTexts.givenUp.title(1));
  const found = [...document.querySelectorAll(".tbl")][0]?.querySelectorAll("tbody tr td b") ?? [];
  const shown = [...found].map((one) => one.textContent);
  return { shown, unmount };
}

it("filters by what is in the address", async () => {
  const cases: [Record<string, string>, string[]][] = [
    [{}, ["well", "away", "unsafe", "live"]],
    [{ env: "prod" }, ["live"]],
    [{ state: "offline" }, ["away"]],
    [{ needs: "you" }, ["away", "unsafe"]],
    [{ q: "unsafe:5000" }, ["unsafe"]],
  ];
  for (const [search, wanted] of cases) {
    const { shown, unmount } = await names(search);
    expect(shown).toEqual(wanted);
    unmount();
  }
});

it("says in the list that a node takes nothing, and why", async () => {
  await names({});
  const mark = screen.getByText(machineTexts.list.takesNone);
  expect(mark.title).toBe("Services can't be isolated.");
});

it("lists what was given up, opened on the one that was given up just now", async () => {
  await names({ given: "burnt" });
  const fold = screen.getByText(machineTexts.givenUp.title(1)).closest("details");
  expect(fold?.open).toBe(true);
  for (const text of ["burnt", "10.0.0.9:5000", "ada", "cart", "volume db/data"])
    expect(fold?.textContent).toContain(text);
  cleanup();
  await names({});
  expect(screen.getByText(machineTexts.givenUp.title(1)).closest("details")?.open).toBe(false);
});
