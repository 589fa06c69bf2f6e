import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { act, cleanup, fireEvent, render, screen, waitFor, within } from "@testing-library/react";
import { afterEach, expect, it, vi } from "vitest";
import { client } from "@/api/client";
import { deployment } from "../components/examples";
import { GeneratedSecrets, REVEALED_FOR } from "./GeneratedSecrets";

afterEach(() => {
  cleanup();
  vi.restoreAllMocks();
  vi.useRealTimers();
});

const value = "k3Jw9xQpL0aZ";

function show(level: "full" | "read") {
  const response = new Response();
  vi.spyOn(client, "GET").mockResolvedValue({
    data: { items: [{ name: "DB_PASSWORD" }] },
    response,
  } as never);
  vi.spyOn(client, "POST").mockResolvedValue({
    data: { name: "DB_PASSWORD", value },
    response,
  } as never);
  const cache = new QueryClient();
  const one = deployment("ready", { level });
  render(
    <QueryClientProvider client={cache}>
      <GeneratedSecrets deployment={one} />
    </QueryClientProvider>,
  );
  return cache;
}

it("reveals a value only when asked and confirmed, and hides it after a minute", async () => {
  const cache = show("full");
  fireEvent.click(await screen.findByRole("button", { name: "Reveal DB_PASSWORD" }));
  expect(client.POST).not.toHaveBeenCalled();
  const question = within(await screen.findByRole("dialog"));
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"], shouldAdvanceTime: true });
  fireEvent.click(question.getByRole("button", { name: "Reveal" }));
  await screen.findByText(value);
  const held = [...cache.getQueryCache().getAll(), ...cache.getMutationCache().getAll()];
  expect(JSON.stringify(held.map((one) => one.state))).not.toContain(value);
  act(() => void vi.advanceTimersByTime(REVEALED_FOR));
  await waitFor(() => expect(screen.queryByText(value)).toBeNull());
});

it("shows only the names to whoever may not see the values", async () => {
  show("read");
  await screen.findByText("DB_PASSWORD");
  expect(screen.queryByRole("button")).toBeNull();
});
