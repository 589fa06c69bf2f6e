import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, fireEvent, render, screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, expect, it, vi } from "vitest";
import { client } from "@/api/client";
import { Toasts } from "@/components/Toast";
import { settingsTexts } from "@/pages/settings/settingsTexts";
import { Certificates } from "./Certificates";

vi.mock("@/forms/useLeaveGuard", () => ({ useLeaveGuard: () => undefined }));

const t = settingsTexts.certificates;

afterEach(() => {
  cleanup();
  vi.restoreAllMocks();
});

const qa = {
  name: "qa",
  hosts: ["*.qa.example.org"],
  issuer: "CN=Example CA",
  serial: "1",
  fingerprint: "9b1c",
  not_before: "2026-01-01T00:00:00Z",
  not_after: new Date(Date.now() + 5 * 86_400_000).toISOString(),
  created_by: "ada",
  created_at: "2026-01-01T00:00:00Z",
};

it("gives a certificate that runs out a successor under the same name", async () => {
  vi.spyOn(client, "GET").mockImplementation((async (path: string) => ({
    data: path === "/api/v1/certificates" ? { items: [qa] } : null,
    response: new Response(),
  })) as never);
  const put = vi
    .spyOn(client, "PUT")
    .mockResolvedValue({ data: qa, response: new Response() } as never);
  render(
    <QueryClientProvider client={new QueryClient()}>
      <Toasts>
        <Certificates />
      </Toasts>
    </QueryClientProvider>,
  );
  await userEvent.click(await screen.findByRole("button", { name: t.replaceOf("qa") }));
  expect(screen.getByText(/^in \d+ d$/)).toBeTruthy();
  expect(screen.getByText(t.replaceTitle("qa"))).toBeTruthy();
  // Its name is not up for choice.
  expect(screen.getAllByRole("textbox")).toHaveLength(2);
  const [chain, key] = ["-----BEGIN CERTIFICATE-----", "-----BEGIN PRIVATE KEY-----"];
  fireEvent.change(screen.getByLabelText(t.chain), { target: { value: chain } });
  fireEvent.change(screen.getByLabelText(t.key), { target: { value: key } });
  await userEvent.click(screen.getByRole("button", { name: /^Replace Ctrl/ }));
  await waitFor(() =>
    expect(put).toHaveBeenCalledExactlyOnceWith("/api/v1/certificates/{name}", {
      params: { path: { name: "qa" } },
      body: { chain, key },
    }),
  );
});
