import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, render, screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { client } from "@/api/client";
import { Matches } from "./Matches";

afterEach(() => {
  cleanup();
  vi.restoreAllMocks();
});

type Body = { pattern?: string; search?: string; limit: number };

/** A registry with many newer tags that have the wanted one's letters in them. */
const TAGS = [...Array.from({ length: 40 }, (_, i) => `16.${i + 1}`), "16"];

beforeEach(() => {
  vi.spyOn(client, "POST").mockImplementation((async (_: string, { body }: { body: Body }) => {
    const all = TAGS.filter(
      (tag) =>
        (!body.pattern || body.pattern === tag) && (!body.search || tag.includes(body.search)),
    );
    const items = all.slice(0, body.limit).map((tag) => ({ tag }));
    const data = { ok: true, took_ms: 1, total: TAGS.length, matching: all.length, items };
    return { data, response: new Response() };
  }) as never);
});

const tried = { registry: "ghcr", image: "postgres", tag_mode: "pinned", tag: "16", pattern: "" };

function show() {
  const cache = new QueryClient();
  const page = (more: Partial<typeof tried>) => (
    <QueryClientProvider client={cache}>
      <Matches {...tried} {...more} />
    </QueryClientProvider>
  );
  const { rerender } = render(page({}));
  return (more: Partial<typeof tried>) => rerender(page(more));
}

it("finds a pinned tag among many newer ones that contain it", async () => {
  const again = show();
  await screen.findByText("16 is in the registry.");
  again({ tag: "17" });
  await screen.findByText("17 is not in the registry now.");
});

it("lists nothing once there is no image to ask about", async () => {
  const again = show();
  await screen.findByText("16 is in the registry.");
  again({ image: "" });
  await screen.findByText(/^Choose a registry/);
  expect(screen.queryByText("16 is in the registry.")).toBeNull();
});

it("says of a default whether it is there, besides what people can choose from", async () => {
  const again = show();
  again({ tag_mode: "selectable", tag: "16", pattern: "" });
  await screen.findByText("The default 16 is in the registry.");
  await screen.findByText("41 of 41 tags match");
  again({ tag_mode: "selectable", tag: "16.100", pattern: "" });
  await screen.findByText(/^The default 16.100 is not in the registry now/);
  again({ tag_mode: "selectable", tag: "", pattern: "" });
  await waitFor(() => expect(screen.queryByText(/^The default/)).toBeNull());
});

it("says what could not be asked, by which request, and asks again", async () => {
  vi.mocked(client.POST).mockResolvedValueOnce({
    error: { title: "The key is missing.", status: 503, code: "x", request_id: "req-2" },
    response: new Response(null, { status: 503 }),
  } as never);
  show();
  await screen.findByText("The registry could not be reached. The key is missing.");
  screen.getByText("request req-2");
  await userEvent.click(screen.getByRole("button", { name: "Try again" }));
  await screen.findByText("16 is in the registry.");
});
