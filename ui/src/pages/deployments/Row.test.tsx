import { createRootRoute, createRouter, RouterContextProvider } from "@tanstack/react-router";
import { cleanup, render, screen } from "@testing-library/react";
import { afterEach, expect, it, vi } from "vitest";
import type { Deployment } from "@/api/client";
import { Row } from "./Row";

afterEach(cleanup);

function show(more: Partial<Deployment>) {
  const deployment = {
    id: "7",
    name: "cart",
    project: "shop",
    environment: "qa",
    level: "full",
    created_by: "lena",
    changed_at: "2026-11-21T12:00:00Z",
    versions: [],
    services: [],
    steps_total: 0,
    ...more,
  } as unknown as Deployment;
  const acts = {
    onRetry: vi.fn(),
    onCopy: vi.fn(),
    onFollow: vi.fn(),
    onMark: vi.fn(),
    onMenu: vi.fn(),
  };
  const router = createRouter({ routeTree: createRootRoute() });
  render(
    <RouterContextProvider router={router as never}>
      <Row deployment={deployment} selected={false} index={0} {...acts} />
    </RouterContextProvider>,
  );
}

it("what waits for this person's answer says so, and leads to it", () => {
  const question = { step: "release", prompt: "Shall it go on?", may_answer: true } as never;
  show({ status: "applying", question });
  screen.getByText("Waits for you");
  screen.getByText("release: Shall it go on?");
  const answer = screen.getByRole("link", { name: "Answer the question of cart" });
  expect(answer.getAttribute("href")).toBe("/deployments/qa/cart/run");
});

it("what waits for somebody else's answer says that it waits, and not that it runs", () => {
  const question = { step: "release", prompt: "Shall it go on?", may_answer: false } as never;
  show({ status: "applying", question });
  screen.getByText("Waiting for an answer");
  expect(screen.queryByText("Applying")).toBeNull();
});

it("the link of a row tells the exact moments, which its cells tell short", () => {
  show({ status: "ready", expires_at: "2026-11-24T12:00:00Z" });
  const { title } = screen.getByRole("link", { name: "cart" });
  expect(title).toMatch(/^cart\nChanged Nov 21, 2026.*\nRemoved at Nov 24, 2026/);
});

it("what is degraded is not shown as ready, and says why", () => {
  const condition_reason = "service web is not running: exited with code 3";
  show({ status: "ready", condition: "degraded", condition_reason });
  screen.getByText("Degraded");
  screen.getByText(condition_reason);
  expect(screen.queryByText("Ready")).toBeNull();
});

it("what is offline is marked so, with its node and what it was", () => {
  const node_offline_since = "2026-11-21T12:00:00Z";
  show({ status: "ready", condition: "offline", node: "fra-02", node_offline_since });
  screen.getByText("Offline");
  screen.getByText("Ready, fra-02 is offline");
  expect(screen.queryByText("Ready")).toBeNull();
});

it("an act says on which deployment", () => {
  show({ status: "failed" });
  screen.getByRole("button", { name: "Retry cart" });
});

it.each([
  ["ready", "/deployments/qa/cart"],
  ["removed", "/d/7"],
  ["canceled", "/d/7"],
] as const)(
  "one that is %s is at %s: the name of what is gone may be another's",
  (status, href) => {
    show({ status });
    expect(screen.getByRole("link", { name: "cart" }).getAttribute("href")).toBe(href);
  },
);

it("what is ready although tests failed says so", () => {
  const tests = { tests: 120, failed: 3, skipped: 2, seconds: 41, marked: true };
  show({ status: "ready", tests });
  screen.getByText("Ready");
  screen.getByText("3 of 120 tests failed, 2 skipped, 41 s");
});
