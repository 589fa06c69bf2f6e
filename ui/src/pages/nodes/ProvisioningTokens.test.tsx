import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, fireEvent, render, screen } from "@testing-library/react";
import { afterEach, expect, it, vi } from "vitest";
import { client } from "@/api/client";
import { ProvisioningTokens } from "./ProvisioningTokens";
import { provisioningTexts as t } from "./provisioningTexts";

const one = {
  prefix: "k3m9x2pq",
  environment: "qa",
  name_pattern: "gpu-{n}",
  max_uses: 3,
  uses: 1,
  status: "active",
  created_by: "ada",
  created_at: "2026-11-26T00:00:00Z",
  expires_at: "2026-12-01T00:00:00Z",
};

afterEach(() => {
  cleanup();
  vi.restoreAllMocks();
});

it("lists the tokens, and shows the line of a new one once", async () => {
  vi.spyOn(client, "GET").mockImplementation((async (path: string) => ({
    data: { items: path.endsWith("environments") ? [{ name: "qa" }] : [one] },
    response: new Response(),
  })) as never);
  const post = vi.spyOn(client, "POST").mockResolvedValue({
    data: { provisioning_token: one, token: "nopp1_x", command: "docker run nopp1_x" },
    response: new Response(),
  } as never);
  render(
    <QueryClientProvider client={new QueryClient()}>
      <ProvisioningTokens />
    </QueryClientProvider>,
  );
  await screen.findByText("k3m9x2pq", { selector: ".mono" });
  screen.getByText("1 of 3");
  fireEvent.click(screen.getByText(t.add));
  const sheet = await screen.findByRole("dialog");
  const submit = sheet.querySelector("button[type=submit]") as HTMLElement;
  fireEvent.click(submit);
  await screen.findByText(t.usesWrong);
  expect(post).not.toHaveBeenCalled();
  fireEvent.change(screen.getByLabelText(t.uses), { target: { value: "3" } });
  fireEvent.click(submit);
  await screen.findByText("docker run nopp1_x");
  expect(post.mock.calls[0]?.[1]).toEqual({
    body: { environment: "qa", max_uses: 3, expires_in_hours: 24 },
  });
});
