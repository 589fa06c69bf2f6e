import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import {
  createMemoryHistory,
  createRootRoute,
  createRouter,
  RouterProvider,
} from "@tanstack/react-router";
import { act, cleanup, render, screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { client } from "@/api/client";
import { me } from "@/api/queries/common";
import { Toasts } from "@/components/Toast";
import { Registries } from "./Registries";

afterEach(() => {
  cleanup();
  vi.restoreAllMocks();
});

const made = { name: "ghcr", host: "ghcr.io", insecure: false, has_password: false };
const answer = (data: unknown) => ({ data, response: new Response() }) as never;

beforeEach(() => {
  vi.spyOn(client, "GET").mockImplementation((async (path: string) =>
    answer(path === "/api/v1/registries/{name}" ? made : { items: [] })) as never);
  vi.spyOn(client, "PUT").mockResolvedValue(answer({ changed: true, created: true }));
  vi.spyOn(client, "POST").mockResolvedValue(answer({ ok: true, took_ms: 7 }));
});

async function show() {
  const router = createRouter({
    routeTree: createRootRoute({ component: Registries }),
    history: createMemoryHistory({ initialEntries: ["/?add=true"] }),
  });
  const cache = new QueryClient();
  cache.setQueryData(me.queryKey, { name: "ada", role: "admin" } as never);
  await act(async () =>
    render(
      <QueryClientProvider client={cache}>
        <Toasts>
          <RouterProvider router={router as never} />
        </Toasts>
      </QueryClientProvider>,
    ),
  );
}

it("asks a registry that was just made whether it answers", async () => {
  await show();
  const sheet = within(await screen.findByRole("dialog", { name: "Add a registry" }));
  await userEvent.type(sheet.getByLabelText("Name"), "ghcr");
  await userEvent.type(sheet.getByLabelText("Host"), "ghcr.io");
  const bundle = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----";
  await userEvent.click(sheet.getByLabelText(/^Certificate authority/));
  await userEvent.paste(`${bundle}\n`);
  await userEvent.click(sheet.getByRole("button", { name: /^Create/ }));
  const stored = within(await screen.findByRole("dialog", { name: "ghcr" }));
  await stored.findByText(/^It answers and accepts the credentials \(7 ms\)/);
  expect(client.POST).toHaveBeenCalledTimes(1);
  const [, put] = vi.mocked(client.PUT).mock.calls[0] as unknown as [string, { body: object }];
  expect(put.body).toMatchObject({ host: "ghcr.io", ca: bundle });
});
