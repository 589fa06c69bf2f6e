import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, fireEvent, render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import type { ReactNode } from "react";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { client, type NodeInfo, type Schemas } from "@/api/client";
import { nodeDrain } from "@/api/queries/catalog";
import { thumbprint } from "@/components/names";
import { nodeTexts } from "@/nodeTexts";
import { machineTexts } from "@/pages/nodes/machineTexts";
import { texts } from "@/texts";
import { DrainBox } from "./Drain";
import { DrainAct } from "./DrainAct";
import { Events } from "./NodeEvents";
import { nodeUnknown } from "./queries";
import { obeysNewer } from "./Recover";
import { keyOf } from "./sshForm";
import { TrustDecision } from "./TrustDecision";
import { UnknownDeployments } from "./UnknownDeployments";
import { applyNodeEvents } from "./useNodesLive";

vi.mock("@tanstack/react-router", async (original) => ({
  ...(await original<typeof import("@tanstack/react-router")>()),
  Link: ({ children }: { children: ReactNode }) => <span>{children}</span>,
  useNavigate: () => () => undefined,
  getRouteApi: () => ({ useParams: () => ({ name: "fra-01" }) }),
}));

const t = nodeTexts;
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
    show(<TrustDecision node={node()} />);
    for (const print of ["ab", "cd"])
      expect(screen.getByText(thumbprint(print.repeat(32)))).toBeTruthy();
    await userEvent.click(screen.getByRole("button", { name: t.reject }));
    expect(post).toHaveBeenCalledExactlyOnceWith("/api/v1/nodes/{name}/reject", {
      params: { path: { name: "fra-01" } },
      body: { thumbprint: "cd".repeat(32) },
    });
  });

  it("at first contact stands beside the one that was expected, and there is no approved one to keep", () => {
    const first = { thumbprint: undefined, expected_thumbprint: "ef".repeat(32) };
    show(<TrustDecision node={node(first)} />);
    for (const print of ["ef", "cd"])
      expect(screen.getByText(thumbprint(print.repeat(32)))).toBeTruthy();
    expect(screen.getByRole("heading").textContent).toBe(machineTexts.decide.firstTitle("fra-01"));
    expect(screen.getByRole("button", { name: machineTexts.decide.reject })).toBeTruthy();
    expect(screen.queryByRole("button", { name: t.reject })).toBeNull();
  });

  it("says of the act that runs that it runs, and of no other", async () => {
    vi.spyOn(client, "POST").mockReturnValue(new Promise(() => undefined) as never);
    show(<TrustDecision node={node()} />);
    await userEvent.click(screen.getByRole("button", { name: t.reject }));
    expect(screen.getByText(machineTexts.decide.rejecting)).toBeTruthy();
    expect(screen.queryByText(t.approveBusy)).toBeNull();
  });

  it("without the proof has no button that trusts it", () => {
    show(<TrustDecision node={node({ pending_proof_valid: false })} />);
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

describe("a drain that is asked for", () => {
  const open = () => userEvent.click(screen.getByRole("button", { name: t.drain }));
  const begin = () => screen.getAllByRole("button", { name: t.drain }).at(-1) as HTMLElement;

  it("waits until it is known what is there", async () => {
    vi.spyOn(client, "GET").mockReturnValue(new Promise(() => undefined) as never);
    const post = vi.spyOn(client, "POST");
    show(<DrainAct node={node()} />);
    await open();
    expect(begin().title).toBe(machineTexts.drain.pending);
    await userEvent.click(begin());
    expect(post).not.toHaveBeenCalled();
  });

  it("takes a deadline and the move along, and no deadline in the past", async () => {
    cache.setQueryData(nodeDrain("fra-01").queryKey, { node: "fra-01", staying: [] });
    cache.setDefaultOptions({ queries: { staleTime: Number.POSITIVE_INFINITY } });
    const answer = { data: { node: "fra-01", staying: [] }, response: new Response() } as never;
    const post = vi.spyOn(client, "POST").mockResolvedValue(answer);
    show(<DrainAct node={node()} />);
    await open();
    await userEvent.click(screen.getByRole("checkbox", { name: machineTexts.drain.move }));
    const until = screen.getByLabelText(machineTexts.drain.until);
    fireEvent.change(until, { target: { value: "2020-01-01T10:00" } });
    await userEvent.click(begin());
    expect(screen.getByText(machineTexts.drain.past)).toBeTruthy();
    expect(post).not.toHaveBeenCalled();
    fireEvent.change(until, { target: { value: "2100-01-01T10:00" } });
    await userEvent.click(begin());
    expect(post).toHaveBeenCalledExactlyOnceWith("/api/v1/nodes/{name}/drain", {
      params: { path: { name: "fra-01" } },
      body: { deadline: new Date("2100-01-01T10:00").toISOString(), move: true },
    });
  });
});

describe("what only a restored database brings", () => {
  const lost = {
    id: "0190e3b8-0000-7000-8000-000000000000",
    name: "cart",
    project: "shop",
    environment: "qa",
    phase: "running",
    found_at: "2026-11-21T12:00:00Z",
    purging: false,
  };
  const u = machineTexts.unknown;

  it("can be adopted, and is purged only after a question", async () => {
    cache.setQueryData(nodeUnknown("fra-01").queryKey, [lost]);
    cache.setDefaultOptions({ queries: { staleTime: Number.POSITIVE_INFINITY } });
    const post = vi
      .spyOn(client, "POST")
      .mockResolvedValue({ data: undefined, response: new Response() } as never);
    show(<UnknownDeployments name="fra-01" />);
    await userEvent.click(screen.getByRole("button", { name: u.purgeOf("cart") }));
    expect(post).not.toHaveBeenCalled();
    await userEvent.click(screen.getByRole("button", { name: u.purge }));
    expect(post.mock.lastCall?.[0]).toBe("/api/v1/nodes/{name}/unknown/{id}/purge");
    await userEvent.click(screen.getByRole("button", { name: u.adoptOf("cart") }));
    expect(post.mock.lastCall?.[0]).toBe("/api/v1/nodes/{name}/unknown/{id}/adopt");
  });

  it("offers to recover a node only where its agent obeys a newer control plane", () => {
    const why = "the agent obeys a newer control plane: if this one was restored …";
    expect(obeysNewer(node({ status: "offline", status_detail: why }))).toBe(true);
    expect(obeysNewer(node({ status: "offline", status_detail: "nothing answers" }))).toBe(false);
    expect(obeysNewer(node({ status: "online", status_detail: why }))).toBe(false);
  });
});

it("never shows a machine's host key for another machine", () => {
  const key = { kind: "ssh-ed25519", fingerprint: "SHA256:abc" };
  const found = { at: { host: "10.0.0.1", port: 22 }, key };
  expect(keyOf(found, { host: "10.0.0.1", port: 22 })).toBe(key);
  expect(keyOf(found, { host: "10.0.0.2", port: 22 })).toBeUndefined();
  expect(keyOf(found, { host: "10.0.0.1", port: 2222 })).toBeUndefined();
  expect(keyOf(undefined, { host: "10.0.0.1", port: 22 })).toBeUndefined();
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
