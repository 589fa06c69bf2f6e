import {
  createMemoryHistory,
  createRootRoute,
  createRouter,
  RouterProvider,
} from "@tanstack/react-router";
import { act, cleanup, render, screen } from "@testing-library/react";
import { afterEach, expect, it, vi } from "vitest";
import type { Deployment } from "@/api/client";
import { Cards } from "./Cards";

afterEach(() => {
  cleanup();
  vi.restoreAllMocks();
});

it("draws the cards in sight, of ten thousand", async () => {
  vi.spyOn(Element.prototype, "clientWidth", "get").mockReturnValue(1200);
  vi.spyOn(Element.prototype, "clientHeight", "get").mockReturnValue(900);
  vi.spyOn(HTMLElement.prototype, "offsetHeight", "get").mockReturnValue(200);
  const all = Array.from({ length: 10_000 }, (_, i) => ({
    id: `d${i}`,
    name: `cart-${i}`,
    status: "ready",
    created_at: "2026-11-21T12:00:00Z",
    versions: [],
    services: [],
  })) as unknown as Deployment[];
  const root = createRootRoute({
    component: () => (
      <div className="body">
        <Cards shown={all} />
      </div>
    ),
  });
  const history = createMemoryHistory({ initialEntries: ["/"] });
  const router = createRouter({ routeTree: root, history });
  await act(async () => render(<RouterProvider router={router as never} />));
  const drawn = (await screen.findAllByRole("listitem")).length;
  expect(drawn).toBeGreaterThan(8);
  expect(drawn).toBeLessThan(30);
});
