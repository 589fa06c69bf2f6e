import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, render, screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, expect, it, vi } from "vitest";
import { client } from "@/api/client";
import { Toasts } from "@/components/Toast";
import { EnvironmentSheet } from "./EnvironmentSheet";

vi.mock("@tanstack/react-router", async (original) => ({
  ...(await original<typeof import("@tanstack/react-router")>()),
  useBlocker: () => undefined,
}));

afterEach(() => {
  cleanup();
  vi.restoreAllMocks();
});

it("proposes to clean up after seven days, and leaves it to the person", async () => {
  vi.spyOn(client, "GET").mockImplementation((async () => ({
    data: { items: [] },
    response: new Response(),
  })) as never);
  const put = vi.spyOn(client, "PUT").mockResolvedValue({
    data: { changed: true, created: true },
    response: new Response(),
  } as never);
  const cache = new QueryClient({ defaultOptions: { queries: { staleTime: 60_000 } } });
  cache.setQueryData(["me"], { name: "ada", role: "admin" });
  render(
    <QueryClientProvider client={cache}>
      <Toasts>
        <EnvironmentSheet taken={[]} close={() => undefined} />
      </Toasts>
    </QueryClientProvider>,
  );
  const hours = screen.getByLabelText(/^Remove deployments after/);
  expect((hours as HTMLInputElement).value).toBe("168");
  await userEvent.clear(hours);
  await userEvent.type(screen.getByLabelText(/^Name/), "qa");
  await userEvent.type(screen.getByLabelText(/^Domain/), "lab.example.com");
  await userEvent.click(screen.getByRole("button", { name: /^Create/ }));
  await waitFor(() => expect(put).toHaveBeenCalled());
  expect(put.mock.calls[0]?.[1]).toMatchObject({ body: { cleanup_after_hours: 0 } });
});
