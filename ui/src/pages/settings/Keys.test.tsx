import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, render, screen } from "@testing-library/react";
import { afterEach, expect, it, vi } from "vitest";
import { client, type Schemas } from "@/api/client";
import { Toasts } from "@/components/Toast";
import { Keys } from "./Keys";

afterEach(() => {
  cleanup();
  vi.restoreAllMocks();
});

const key = (name: string, more: Partial<Schemas["MasterKey"]>) =>
  ({
    name,
    source: "local",
    present: true,
    primary: false,
    values: 0,
    uses: [],
    ...more,
  }) satisfies Schemas["MasterKey"];

function show(items: Schemas["MasterKey"][]) {
  vi.spyOn(client, "GET").mockResolvedValue({ data: { items }, response: new Response() } as never);
  render(
    <QueryClientProvider client={new QueryClient()}>
      <Toasts>
        <Keys />
      </Toasts>
    </QueryClientProvider>,
  );
}

it("names in words what lies under a key, and offers nothing while all lies under the first", async () => {
  const uses = [{ place: "outward_secrets", values: 2 }];
  show([key("new", { primary: true, values: 2, uses })]);
  expect(await screen.findByText("webhooks and rules 2")).toBeTruthy();
  expect(screen.getByText("Every value is under the first key.")).toBeTruthy();
  expect(screen.queryByRole("button", { name: /^Reseal/ })).toBeNull();
});

it("offers to reseal what lies under another key", async () => {
  show([key("new", { primary: true }), key("old", { values: 3 })]);
  expect(await screen.findByRole("button", { name: /^Reseal/ })).toBeTruthy();
});
