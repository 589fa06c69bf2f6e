import { cleanup, render, screen } from "@testing-library/react";
import type { ReactNode } from "react";
import { afterEach, describe, expect, it, vi } from "vitest";
import type { NodeInfo } from "@/api/client";
import type { ServerEvent } from "@/api/sse";
import { nodeTexts } from "@/nodeTexts";
import { Turns } from "./NodeQueue";
import { Fleet } from "./Nodes";
import { Plugins } from "./Plugins";
import { type Attempt, AttemptLog, withEvents } from "./Provisions";

vi.mock("@tanstack/react-router", async (original) => ({
  ...(await original<typeof import("@tanstack/react-router")>()),
  Link: ({ children }: { children: ReactNode }) => <span>{children}</span>,
}));

const t = nodeTexts;

afterEach(cleanup);

const attempt: Attempt = {
  node: "fra-01",
  number: 2,
  state: "provisioning",
  started_by: "ada",
  created_at: "2026-11-21T12:00:00Z",
  steps: [],
};

const said = (event: string, data: unknown): ServerEvent =>
  ({ event, data: JSON.stringify(data), id: "" }) as ServerEvent;

describe("an attempt to set a machine up", () => {
  it("shows each step as it is now, in order, and how it ended", () => {
    const step = { status: "running", output: "", started_at: attempt.created_at };
    const live = withEvents(attempt, [
      said("step", { ...step, seq: 2, key: "upload", output: "12 MiB" }),
      said("step", { ...step, seq: 1, key: "connect" }),
      said("step", { ...step, seq: 1, key: "connect", status: "done", output: "as root" }),
      said("provision", { ...attempt, state: "error", message: "no room on /", steps: undefined }),
    ]);
    expect(live.steps.map((one) => `${one.key} ${one.status}`)).toEqual([
      "connect done",
      "upload running",
    ]);
    render(<AttemptLog attempt={live} count={2} />);
    for (const text of ["as root", "12 MiB", "no room on /", t.ssh.states.error])
      expect(screen.getByText(text)).toBeTruthy();
  });
});

describe("what a node has and who waits for it", () => {
  it("names the plugin that could not be pulled, and why", () => {
    render(
      <Plugins
        plugins={[
          { name: "database", image: "r/database@sha256:1", state: "here" },
          { name: "mailer", image: "r/mailer@sha256:2", state: "failed", detail: "denied" },
        ]}
      />,
    );
    expect(screen.getByText(t.plugins.title(1, 2))).toBeTruthy();
    expect(screen.getByText("denied")).toBeTruthy();
  });

  it("gives each its turn and what it waits for", () => {
    const id = "0190e3b8-0000-7000-8000-000000000000";
    render(
      <Turns
        all={[
          {
            id,
            deployment_id: id,
            deployment: "checkout",
            project: "shop",
            environment: "qa",
            status: "queued",
            run: 1,
            priority: 200,
            wait: true,
            position: 1,
            reason: "two runs go on there",
            queued_at: "2026-11-21T12:00:00Z",
            attempts: 0,
          },
        ]}
      />,
    );
    for (const text of ["checkout", "200", "two runs go on there"])
      expect(screen.getByText(text)).toBeTruthy();
  });

  it("adds the whole fleet up", () => {
    const node = (status: NodeInfo["status"], cpu: number): NodeInfo =>
      ({ status, deployments: 2, allocated: { cpu, memory_mib: 1024 } }) as NodeInfo;
    render(<Fleet nodes={[node("online", 1), node("online", 0.5), node("offline", 0)]} />);
    expect(screen.getByText("2 online")).toBeTruthy();
    expect(screen.getByText(t.fleetRoom("1.5 of 0", "3.2 GB of 0 B", 6))).toBeTruthy();
  });

  it("counts CPU as often as each environment lets it be allocated", () => {
    const node = (cpu: number, cpu_overcommit?: number): NodeInfo =>
      ({ status: "online", allocated: { cpu: 1 }, inventory: { cpu }, cpu_overcommit }) as never;
    render(<Fleet nodes={[node(8, 4), node(1, 0.3), node(2)]} />);
    expect(screen.getByText(/3 of 34\.3/)).toBeTruthy();
  });
});
