import { cleanup, render, screen } from "@testing-library/react";
import type { ReactNode } from "react";
import { afterEach, expect, it, vi } from "vitest";
import { AttentionList } from "./AttentionList";

vi.mock("@tanstack/react-router", () => ({
  Link: ({ children }: { children: ReactNode }) => <a href="/x">{children}</a>,
}));
afterEach(cleanup);

const well = { troubles: [], unread: [], stale: false, disabled: 0 };

it("puts those of a kind under one line, and counts them as one thing", () => {
  const trouble = (name: string, kind: string) => ({
    id: `${name} ${kind}`,
    state: "warn",
    what: `${name} fails the check ${kind}`,
    remedy: "Turn it off.",
    where: { state: "x" },
    kind: `check ${kind}`,
    many: (count: number) => `${count} nodes fail ${kind}`,
  });
  const troubles = [trouble("a", "swap"), trouble("b", "clock"), trouble("c", "swap")];
  render(<AttentionList {...well} troubles={troubles} />);
  screen.getByRole("heading", { name: "2 things need you" });
  const group = screen.getByText("2 nodes fail swap").closest("details");
  expect(group?.open).toBe(false);
  expect(group?.querySelectorAll("li")).toHaveLength(2);
  expect(screen.getByText("b fails the check clock").closest("details")).toBeNull();
});

it("says that nothing needs anybody only when all was read, and of which nodes", () => {
  const { rerender } = render(<AttentionList {...well} />);
  screen.getByRole("heading", { name: "Nothing needs you" });
  screen.getByText(/^Every node is heard/);
  rerender(<AttentionList {...well} disabled={2} />);
  screen.getByText(/^Every node that is not disabled is heard.* 2 nodes are disabled/);
  for (const lack of [{ unread: ["The queue"] }, { stale: true }]) {
    rerender(<AttentionList {...well} {...lack} />);
    screen.getByRole("heading", { name: "What needs you is not fully known" });
    expect(screen.queryByText(/is heard/)).toBeNull();
  }
});
