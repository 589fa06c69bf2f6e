import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, expect, it, vi } from "vitest";
import { Toasts } from "@/components/Toast";
import { Export } from "./ChainCheck";

afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});

it("says why a file is refused, and by which request", async () => {
  const body = JSON.stringify({ title: "No.", status: 403, code: "x", request_id: "req-4" });
  const fetched = vi.fn(async (_: string) => new Response(body, { status: 403 }));
  vi.stubGlobal("fetch", fetched);
  render(
    <QueryClientProvider client={new QueryClient()}>
      <Toasts>
        <Export search={{ who: "ada" }} />
      </Toasts>
    </QueryClientProvider>,
  );
  await userEvent.click(screen.getByRole("button", { name: "Export" }));
  await userEvent.click(await screen.findByRole("menuitem", { name: "CSV" }));
  await screen.findByText("The file could not be made. No. request req-4");
  expect(fetched.mock.calls[0]?.[0]).toBe("/api/v1/audit/export?format=csv&actor=ada");
});
