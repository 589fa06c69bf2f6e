import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import type { ReactNode } from "react";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { client, type NodeInfo, type Schemas } from "@/api/client";
import { nodeDrain } from "@/api/queries/catalog";
import { thumbprint } from "@/components/names";
import { texts } from "@/texts";
import { DrainBox } from "./Drain";
import { Events } from "./Happened";
import { applyNodeEvents } from "./live";
import { Decide } from "./NodePage";

vi.mock("@tanstack/react-router", async (original) => ({
  ...(await original<typeof import("@tanstack/react-router")>()),
  Link: ({ children }: { children: ReactNode }) => <span>{children}</span>,
  useNavigate: () => () => undefined,
  getRouteApi: () => ({ useParams: () => ({ name: "fra-01" }) }),
}));

const t = texts.nodes;
let cache: QueryClient;

beforeEach(() => {
  cache = new QueryClient({ defaultOptions: { queries: { retry: false } } });
});

afterEach(() => {
  cleanup();
  vi.restoreAllMocks();
});

const node = (more: Partial<NodeInfo> = {}): NodeInfo => ({
  name: "fra-01",
  environment: "qa",
  address: "10.20.4.14:5000",
  status: "untrusted",
  since: "2026-11-21T12:00:00Z",
  enabled: true,
  thumbprint: "ab".repeat(32),
  pending_thumbprint: "cd".repeat(32),
  pending_proof_valid: true,
  revocation_pending: false,
  allocated: {},
  deployments: 1,
  ...more,
});

const show = (what: ReactNode) =>
  render(<QueryClientProvider client={cache}>{what}</QueryClientProvider>);

describe("a certificate nobody has seen", () => {
  it("is shown beside the approved one, and rejected as exactly this one", async () => {
    const answer = { data: node(), response: new Response() } as never;
    const post = vi.spyOn(client, "POST").mockResolvedValue(answer);
    show(<Decide node={node()} />);
    for (const print of ["ab", "cd"])
      expect(screen.getByText(thumbprint(print.repeat(32)))).toBeTruthy();
    await userEvent.click(screen.getByRole("button", { name: t.reject }));
    expect(post).toHaveBeenCalledExactlyOnceWith("/api/v1/nodes/{name}/reject", {
      params: { path: { name: "fra-01" } },
      body: { thumbprint: "cd".repeat(32) },
    });
  });

  it("without the proof has no button that trusts it", () => {
    show(<Decide node={node({ pending_proof_valid: false })} />);
    expect(screen.queryByRole("button", { name: t.approve })).toBeNull();
    expect(screen.getByText(t.notProved)).toBeTruthy();
  });
});

describe("a drain", () => {
  const drain: Schemas["Drain"] = { status: "draining", since: "2026-11-21T12:00:00Z", by: "ada" };
  const staying = {
    id: "1",
    name: "cart-redesign",
    project: "shop",
    created_by: "lena",
    status: "ready",
  } as const;

  it("lists what stays, and says that it has no end", () => {
    cache.setQueryData(nodeDrain("fra-01").queryKey, { node: "fra-01", drain, staying: [staying] });
    cache.setDefaultOptions({ queries: { staleTime: Number.POSITIVE_INFINITY } });
    const { container } = show(<DrainBox node={node({ drain })} end={() => undefined} />);
    for (const part of [texts.states.draining, "cart-redesign", "shop", t.emptyNever, t.endsNever])
      expect(container.textContent).toContain(part);
  });

  it("can be ended", async () => {
    cache.setQueryData(nodeDrain("fra-01").queryKey, { node: "fra-01", drain, staying: [] });
    cache.setDefaultOptions({ queries: { staleTime: Number.POSITIVE_INFINITY } });
    const end = vi.fn();
    show(<DrainBox node={node({ drain: { ...drain, status: "drained" } })} end={end} />);
    expect(screen.getByText(t.nothingStays)).toBeTruthy();
    await userEvent.click(screen.getByRole("button", { name: t.undrain }));
    expect(end).toHaveBeenCalledOnce();
  });
});

describe("what happened to a node", () => {
  it("is told in words, and states keep their glyph", () => {
    const at = "2026-11-21T12:00:00Z";
    const all = [
      { id: 2, node: "fra-01", at, kind: "untrusted", detail: "another certificate answers" },
      { id: 1, node: "fra-01", at, kind: "token_rotated" },
    ];
    const { container } = render(<Events all={all} />);
    for (const part of [texts.states.untrusted, "another certificate answers", "New token"])
      expect(container.textContent).toContain(part);
    expect(container.querySelectorAll("svg")).toHaveLength(1);
  });

  it("has that node and the list read anew, and nothing else", () => {
    cache.setQueryData(["nodes"], []);
    cache.setQueryData(["node", "fra-01"], node());
    cache.setQueryData(["node", "fra-02"], node());
    const stale = (key: string[]) => cache.getQueryState(key)?.isInvalidated;
    const data = JSON.stringify({ id: 1, node: "fra-01", at: "", kind: "online" });
    applyNodeEvents(cache, [{ event: "node", data, id: "7-1" }]);
    expect([stale(["nodes"]), stale(["node", "fra-01"]), stale(["node", "fra-02"])]).toEqual([
      true,
      true,
      false,
    ]);
    applyNodeEvents(cache, [{ event: "reset", data: "{}", id: "8-0" }]);
    expect(stale(["node", "fra-02"])).toBe(true);
  });
});
