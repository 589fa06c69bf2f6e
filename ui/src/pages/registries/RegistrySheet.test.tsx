import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, fireEvent, render, screen, waitFor } from "@testing-library/react";
import { afterEach, expect, it, vi } from "vitest";
import { client } from "@/api/client";
import { me } from "@/api/queries/common";
import { Toasts } from "@/components/Toast";
import { formTexts } from "@/forms/formTexts";
import { registryTexts as t } from "@/pages/catalogTexts";
import { RegistrySheet } from "./RegistrySheet";

vi.mock("@tanstack/react-router", async (original) => ({
  ...(await original<typeof import("@tanstack/react-router")>()),
  useBlocker: () => undefined,
}));

afterEach(() => {
  cleanup();
  vi.restoreAllMocks();
});

const value = {
  name: "ghcr",
  host: "ghcr.io",
  insecure: false,
  builtin: false,
  username: "robot",
  has_password: true,
  description: "images",
};
const answer = (data: unknown) => ({ data, response: new Response() }) as never;

function show(close: () => void) {
  const cache = new QueryClient();
  cache.setQueryData(me.queryKey, { name: "ada", role: "admin" } as never);
  const tagged = { value, tag: '"1"' };
  render(
    <QueryClientProvider client={cache}>
      <Toasts>
        <RegistrySheet
          opened={{ ...tagged, again: async () => tagged }}
          taken={["ghcr"]}
          used="nothing"
          close={close}
        />
      </Toasts>
    </QueryClientProvider>,
  );
}

const change = (label: RegExp, text: string) =>
  fireEvent.change(screen.getByLabelText(label), { target: { value: text } });

it("changes a registry that is stored", async () => {
  const put = vi.spyOn(client, "PUT").mockResolvedValue(answer({ changed: true }));
  const close = vi.fn();
  show(close);
  const host = await screen.findByLabelText(t.host);
  // promise: N-020
  expect(host).toHaveProperty("value", "ghcr.io");
  change(/^Host/, "mirror.example.org");
  fireEvent.click(screen.getByLabelText(t.insecure));
  change(/^User name/, "puller");
  fireEvent.click(screen.getByText(/^Save/));
  await waitFor(() => expect(close).toHaveBeenCalled());
  // promise: N-020
  expect(put).toHaveBeenCalledWith("/api/v1/registries/{name}", {
    params: { path: { name: "ghcr" } },
    headers: { "If-Match": '"1"' },
    body: {
      host: "mirror.example.org",
      insecure: true,
      username: "puller",
      description: "images",
    },
  });
});

it("deletes a registry that is stored, after a question", async () => {
  const remove = vi.spyOn(client, "DELETE").mockResolvedValue(answer(undefined));
  const close = vi.fn();
  show(close);
  fireEvent.click(await screen.findByText(formTexts.remove));
  await screen.findByText(formTexts.deleteTitle("ghcr"));
  expect(remove).not.toHaveBeenCalled();
  const buttons = screen.getAllByText(formTexts.remove);
  fireEvent.click(buttons[buttons.length - 1] as HTMLElement);
  await waitFor(() => expect(close).toHaveBeenCalled());
  // promise: N-020
  expect(remove).toHaveBeenCalledWith("/api/v1/registries/{name}", {
    params: { path: { name: "ghcr" } },
  });
});
