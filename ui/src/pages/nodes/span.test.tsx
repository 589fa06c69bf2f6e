import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, expect, it, vi } from "vitest";
import { client, type NodeInfo } from "@/api/client";
import { nodeTexts } from "@/nodeTexts";
import { NodeUsage } from "./NodeUsage";

const address = vi.hoisted(() => ({ search: {} as object, went: vi.fn() }));

vi.mock("@tanstack/react-router", async (original) => ({
  ...(await original<typeof import("@tanstack/react-router")>()),
  useNavigate: () => address.went,
  useSearch: () => address.search,
}));

const t = nodeTexts.use;

afterEach(() => {
  cleanup();
  vi.restoreAllMocks();
});

/** The button of the span that is shown. */
function shown(search: object) {
  address.search = search;
  vi.spyOn(client, "GET").mockReturnValue(new Promise(() => undefined) as never);
  render(
    <QueryClientProvider client={new QueryClient()}>
      <NodeUsage node={{ name: "fra-01" } as NodeInfo} />
    </QueryClientProvider>,
  );
  return screen.getByRole("button", { pressed: true }).textContent;
}

it("goes as far back as the address says, and an hour otherwise", () => {
  expect(shown({ span: "week" })).toBe(t.spans.week);
  cleanup();
  expect(shown({ span: "toString" })).toBe(t.spans.hour);
  cleanup();
  expect(shown({})).toBe(t.spans.hour);
});

it("puts a choice into the address, beside what else is there", async () => {
  shown({ span: "week", q: "x" });
  await userEvent.click(screen.getByRole("button", { name: t.spans.quarter }));
  const { search } = address.went.mock.lastCall?.[0] ?? {};
  expect(search({ span: "week", q: "x" })).toEqual({ span: "quarter", q: "x" });
});
