import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { act, cleanup, render, screen } from "@testing-library/react";
import { afterEach, it, vi } from "vitest";
import { client } from "@/api/client";
import { Invitations } from "./Invitations";

const one = {
  id: "1",
  address: "ada@example.org",
  teams: [],
  created_by: "root",
  expires_at: "2026-12-01T00:00:00Z",
};

afterEach(() => {
  cleanup();
  vi.restoreAllMocks();
});

it("keeps what was read when it can't be read again, and says how old it is", async () => {
  const get = vi.spyOn(client, "GET");
  get.mockResolvedValueOnce({ data: { items: [one] }, response: new Response() } as never);
  get.mockRejectedValue(new TypeError("away"));
  const cache = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  render(
    <QueryClientProvider client={cache}>
      <Invitations />
    </QueryClientProvider>,
  );
  await screen.findByText(/ada@example.org/);
  await act(() => cache.refetchQueries());
  await screen.findByText(/^The invitations could not be read\./);
  screen.getByText(/^This data was loaded/);
  screen.getByText(/ada@example.org/);
});
