import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, fireEvent, render, screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, expect, it, vi } from "vitest";
import { client } from "@/api/client";
import { Toasts } from "@/components/Toast";
import { SecretSheet } from "./SecretSheet";

afterEach(() => {
  cleanup();
  vi.restoreAllMocks();
});

const KEY =
  "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIA\n\tx=\n-----END PRIVATE KEY-----\n";

it("stores a key of several lines as it was pasted, and masks it until it is asked for", async () => {
  const put = vi.spyOn(client, "PUT").mockResolvedValue({
    data: { changed: true, secret: { name: "TLS_KEY", version: 1 } },
    response: new Response(),
  } as never);
  render(
    <QueryClientProvider client={new QueryClient()}>
      <Toasts>
        <SecretSheet project="shop" taken={[]} close={() => undefined} />
      </Toasts>
    </QueryClientProvider>,
  );
  await userEvent.type(screen.getByLabelText("Name"), "TLS_KEY");
  const value = screen.getByLabelText("Value");
  fireEvent.change(value, { target: { value: KEY } });
  expect(value.className).toContain("masked");
  await userEvent.click(screen.getByText("Show what I type"));
  expect(value.className).not.toContain("masked");
  await userEvent.click(screen.getByText(/^Save/));
  await waitFor(() => expect(put).toHaveBeenCalled());
  expect(put.mock.calls[0]?.[1]).toMatchObject({ body: { value: KEY } });
});

it("says where in Vault a secret is", async () => {
  const put = vi.spyOn(client, "PUT").mockResolvedValue({
    data: { changed: true, secret: { name: "DB_PASSWORD", version: 1 } },
    response: new Response(),
  } as never);
  render(
    <QueryClientProvider client={new QueryClient()}>
      <Toasts>
        <SecretSheet project="shop" taken={[]} close={() => undefined} />
      </Toasts>
    </QueryClientProvider>,
  );
  await userEvent.type(screen.getByLabelText("Name"), "DB_PASSWORD");
  await userEvent.selectOptions(screen.getByLabelText("Where the value comes from"), "vault");
  await userEvent.click(screen.getByText(/^Save/));
  expect(put).not.toHaveBeenCalled();
  await userEvent.type(screen.getByLabelText("Path in Vault"), "apps/shop");
  await userEvent.type(screen.getByLabelText("Field"), "password");
  await userEvent.click(screen.getByText(/^Save/));
  await waitFor(() => expect(put).toHaveBeenCalled());
  expect(put.mock.calls[0]?.[1]).toMatchObject({
    body: { vault: { path: "apps/shop", field: "password" } },
  });
});
