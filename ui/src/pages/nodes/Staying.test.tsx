import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { act, cleanup, render, screen } from "@testing-library/react";
import type { ReactNode } from "react";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { client, type NodeInfo, type Schemas } from "@/api/client";
import { machineTexts } from "@/pages/nodes/machineTexts";
import { settingsTexts } from "@/pages/settings/settingsTexts";
import { Last } from "../settings/Backups";
import { DrainBox } from "./Drain";
import { UnknownDeployments } from "./UnknownDeployments";

vi.mock("@tanstack/react-router", async (original) => ({
  ...(await original<typeof import("@tanstack/react-router")>()),
  Link: ({ children }: { children: ReactNode }) => <span>{children}</span>,
  useNavigate: () => () => undefined,
}));

/** What the server answers; an Error is silence. */
let answer: unknown;

beforeEach(() => {
  vi.useFakeTimers();
  vi.spyOn(client, "GET").mockImplementation((async () => {
    if (answer instanceof Error) throw answer;
    return { data: answer, response: new Response() };
  }) as never);
});

afterEach(() => {
  cleanup();
  vi.useRealTimers();
  vi.restoreAllMocks();
});

async function show(what: ReactNode) {
  const cache = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  render(<QueryClientProvider client={cache}>{what}</QueryClientProvider>);
  await passes(0);
}

const passes = (seconds: number) => act(() => vi.advanceTimersByTimeAsync(seconds * 1000));
const lost = new TypeError("nothing answers");

describe("what stays on a node that is drained", () => {
  const drain: Schemas["Drain"] = { status: "draining", since: "2026-11-21T12:00:00Z", by: "ada" };
  const node = { name: "fra-01", drain } as NodeInfo;
  const one = (name: string, more = {}) => ({
    id: name,
    name,
    project: "shop",
    created_by: "lena",
    status: "ready",
    ...more,
  });
  const said = (...staying: object[]) => ({ node: "fra-01", drain, staying });

  it("is read again while it is looked at, and goes on saying why", async () => {
    const stays = one("cart", { stays_because: "its volumes stay" });
    answer = said(stays, one("gone-soon"));
    await show(<DrainBox node={node} end={() => undefined} />);
    expect(screen.getByText("gone-soon")).toBeTruthy();
    answer = said(stays);
    await passes(11);
    expect(screen.queryByText("gone-soon")).toBeNull();
    expect(screen.getByText(machineTexts.drain.stays("its volumes stay"))).toBeTruthy();
  });

  it("stays on the page when a later reading fails, below a line that says so", async () => {
    answer = said(one("cart"));
    await show(<DrainBox node={node} end={() => undefined} />);
    answer = lost;
    await passes(11);
    expect(screen.getByRole("alert").textContent).toContain(machineTexts.drain.unread);
    expect(screen.getByText("cart")).toBeTruthy();
  });
});

describe("what was read is kept when it can't be read again", () => {
  it("is so with deployments that nobody knows", async () => {
    const found_at = "2026-11-21T12:00:00Z";
    const one = { id: "1", name: "cart", project: "shop", environment: "qa", phase: "running" };
    answer = { items: [{ ...one, found_at, purging: false }] };
    await show(<UnknownDeployments name="fra-01" />);
    answer = lost;
    await passes(11);
    expect(screen.getByRole("alert").textContent).toContain(machineTexts.unknown.unread);
    expect(screen.getByText("cart")).toBeTruthy();
  });

  it("is so with the time of the last backup", async () => {
    answer = { items: [{ at: "2026-11-21T12:00:00Z" }] };
    await show(<Last />);
    answer = lost;
    await passes(31);
    expect(screen.getByRole("alert").textContent).toContain(settingsTexts.backups.unread);
    expect(document.querySelector("time")).toBeTruthy();
  });
});
