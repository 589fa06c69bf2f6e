import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, render, screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, expect, it, vi } from "vitest";
import { client } from "@/api/client";
import { Toasts } from "@/components/Toast";
import { StarterSheet } from "./StarterSheet";

vi.mock("@tanstack/react-router", async (original) => ({
  ...(await original<typeof import("@tanstack/react-router")>()),
  useBlocker: () => undefined,
}));

afterEach(() => {
  cleanup();
  vi.restoreAllMocks();
});

const redis = {
  name: "redis",
  group: "services",
  description: "Redis, a key-value store",
  image: "library/redis:7.4",
  registry: "docker-hub",
  secrets: ["REDIS_PASSWORD"],
  ports: [6379],
  volumes: ["/data"],
  resources: { cpu: 0.5, memory_mib: 256 },
  gpus: 0,
  plugins: ["redis-user"],
  services: [],
  document: "kind: service",
};

it("says what an entry needs, and adds it under another name", async () => {
  vi.spyOn(client, "GET").mockImplementation((async (path: string) => ({
    data: {
      items: path.endsWith("catalogue") ? [redis] : [{ name: "local", host: "localhost:5000" }],
    },
    response: new Response(),
  })) as never);
  const post = vi
    .spyOn(client, "POST")
    .mockResolvedValue({ data: { results: [], unlisted: [] }, response: new Response() } as never);
  const close = vi.fn();
  render(
    <QueryClientProvider client={new QueryClient()}>
      <Toasts>
        <StarterSheet taken={["redis"]} close={close} />
      </Toasts>
    </QueryClientProvider>,
  );
  await screen.findByText(redis.description);
  await userEvent.selectOptions(screen.getByLabelText("Service"), "redis");
  await screen.findByText("REDIS_PASSWORD");
  await userEvent.click(screen.getByRole("button", { name: /^Add/ }));
  expect(post).not.toHaveBeenCalled();
  await userEvent.type(screen.getByLabelText(/^Name/), "cache");
  await userEvent.selectOptions(screen.getByLabelText("Registry of the plugins"), "local");
  await userEvent.click(screen.getByRole("button", { name: /^Add/ }));
  await waitFor(() => expect(close).toHaveBeenCalled());
  expect(post).toHaveBeenCalledWith("/api/v1/catalogue/{name}", {
    params: { path: { name: "redis" } },
    body: { name: "cache", registry: undefined, plugin_registry: "local" },
  });
});
