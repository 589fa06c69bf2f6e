import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { client } from "@/api/client";
import { Toasts } from "@/components/Toast";
import { Tokens } from "./Tokens";

afterEach(() => {
  cleanup();
  vi.restoreAllMocks();
});

const response = new Response();
const refused = {
  error: { title: "No.", status: 503, code: "busy", request_id: "req-7" },
  response: new Response(null, { status: 503 }),
};

beforeEach(() => {
  vi.spyOn(client, "GET").mockResolvedValue({ data: { items: [] }, response } as never);
  vi.spyOn(client, "POST").mockResolvedValue({ data: { token: "nop_x" }, response } as never);
});

function show() {
  render(
    <QueryClientProvider
      client={new QueryClient({ defaultOptions: { queries: { retry: false } } })}
    >
      <Toasts>
        <Tokens user="" make />
      </Toasts>
    </QueryClientProvider>,
  );
}

const made = () =>
  vi
    .mocked(client.POST)
    .mock.calls.map(
      (call) =>
        (call as unknown as [string, { body: { expires_in_days?: number } }])[1].body
          .expires_in_days,
    );

async function make(days: string) {
  const field = screen.getByLabelText("Days until it ends");
  await userEvent.clear(field);
  if (days) await userEvent.type(field, days);
  await userEvent.type(screen.getByLabelText("What for"), "ci{Enter}");
  await userEvent.click(screen.getByRole("button", { name: "Make a token" }));
}

it.each(["0", "00", "3651", "-1", "9x", "1.5"])("makes no token of %s days", async (days) => {
  show();
  await make(days);
  expect(screen.getByRole("alert").textContent).toMatch(/^Type 1 to 3650 days/);
  expect(made()).toEqual([]);
});

it("makes a token without an end only of an empty field", async () => {
  show();
  await make("");
  await screen.findByText("nop_x");
  expect(made()).toEqual([undefined]);
});

it("says what refused the list, its request, and asks again", async () => {
  vi.mocked(client.GET).mockResolvedValueOnce(refused as never);
  show();
  await screen.findByText("request req-7");
  await userEvent.click(screen.getByRole("button", { name: "Try again" }));
  await screen.findByText("No tokens.");
});
