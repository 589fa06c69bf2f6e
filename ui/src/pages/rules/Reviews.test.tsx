import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, render, screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, expect, it, vi } from "vitest";
import { client } from "@/api/client";
import { Reviews } from "./Reviews";

afterEach(() => {
  cleanup();
  vi.restoreAllMocks();
});

const review = {
  key: "acme/shop#12",
  branch: "main",
  tag: "4f2a91c",
  commit: "4f2a91c07d",
  deployment: "shop-12",
  state: "waiting",
  changed_at: "2026-11-27T10:00:00Z",
};

type Sent = { path: string; body: unknown };

/** Shows reviews; a POST is answered with the body, or refused with the sentence. */
function show(reviews: object[], refusal?: string, rule = {}) {
  const sent: Sent[] = [];
  vi.spyOn(client, "GET").mockImplementation((async () => ({
    data: { rule, reviews },
    response: new Response(),
  })) as unknown as typeof client.GET);
  vi.spyOn(client, "POST").mockImplementation((async (path: string, init: { body: unknown }) => {
    sent.push({ path, body: init.body });
    if (!refusal) return { data: review, response: new Response() };
    const error = { title: refusal, code: "commit_outdated", status: 409 };
    return { error, response: new Response(null, { status: 409 }) };
  }) as unknown as typeof client.POST);
  const cache = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  render(
    <QueryClientProvider client={cache}>
      <Reviews name="shop" />
    </QueryClientProvider>,
  );
  return sent;
}

it("says what the code host refuses, and what helps", async () => {
  show([], undefined, { refusal: "github answered 401: it does not accept the token" });
  const said = await screen.findByRole("alert");
  expect(said.textContent).toMatch(/github answered 401.*Give it a token/);
});

it("approves exactly the commit that is shown", async () => {
  const sent = show([{ ...review, awaits_approval: true }]);
  await screen.findByText("Waiting for approval");
  await userEvent.click(screen.getByRole("button", { name: /^Approve commit 4f2a91c/ }));
  await waitFor(() =>
    expect(sent).toEqual([
      {
        path: "/api/v1/rules/{name}/approvals",
        body: { key: "acme/shop#12", commit: "4f2a91c07d" },
      },
    ]),
  );
});

it("says why a commit was not approved", async () => {
  show([{ ...review, awaits_approval: true }], "The newest commit is another one.");
  await userEvent.click(await screen.findByRole("button", { name: /^Approve commit/ }));
  await screen.findByText(/The newest commit is another one/);
});

it("offers no approval where none is awaited", async () => {
  show([review]);
  await screen.findByText("Waiting for the image");
  expect(screen.queryByRole("button")).toBeNull();
});
