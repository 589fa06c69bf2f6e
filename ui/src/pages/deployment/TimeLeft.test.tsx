import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, render, screen } from "@testing-library/react";
import { afterEach, expect, it } from "vitest";
import type { Deployment } from "@/api/client";
import { TimeLeft } from "./TimeLeft";

afterEach(cleanup);

const made = {
  environment: "qa",
  status: "ready",
  lifetime_hours: 48,
  expires_at: new Date(Date.now() + 40 * 3_600_000).toISOString(),
} as Deployment;

/** The page as it is once the environments have been read. */
function shown(ignore_visits: boolean) {
  const cache = new QueryClient({ defaultOptions: { queries: { staleTime: Infinity } } });
  cache.setQueryData(["environments"], [{ name: "qa", ignore_visits }]);
  render(
    <QueryClientProvider client={cache}>
      <TimeLeft deployment={made} />
    </QueryClientProvider>,
  );
}

it("says that a visit prolongs it, where visits count", () => {
  shown(false);
  expect(screen.getByText("Each visit, retry or extend sets it back to 2 days.")).toBeTruthy();
});

it("does not speak of visits where they do not count", () => {
  shown(true);
  expect(screen.getByText("Each retry or extend sets it back to 2 days.")).toBeTruthy();
});
