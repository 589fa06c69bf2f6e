import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, expect, it } from "vitest";
import type { Deployment } from "@/api/client";
import { activity } from "@/api/queries/activity";
import { LastReset } from "./LastReset";

afterEach(cleanup);

const hours = (ago: number) => new Date(Date.now() - ago * 3_600_000).toISOString();
const made = { id: "d1", name: "cart", expires_at: hours(-40) } as Deployment;

it("says what reset the countdown last, and lists the ones before with the rule", async () => {
  const cache = new QueryClient({ defaultOptions: { queries: { staleTime: Infinity } } });
  cache.setQueryData(activity(made.id, made.expires_at).queryKey, {
    rule: "It is removed 48 hours after it was last created, retried, moved, extended or visited.",
    items: [
      { at: hours(3.1), kind: "visited", by: "a visitor" },
      { at: hours(30), kind: "extended", by: "ann" },
    ],
  });
  render(
    <QueryClientProvider client={cache}>
      <LastReset deployment={made} />
    </QueryClientProvider>,
  );
  await userEvent.click(screen.getByRole("button", { name: "Last: a visit, 3 h ago" }));
  await screen.findByRole("dialog", { name: "What reset the time of cart" });
  expect(screen.getByText(/48 hours after/)).toBeTruthy();
  expect(screen.getByText(/extended by ann/)).toBeTruthy();
});
