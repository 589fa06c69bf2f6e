import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, expect, it, vi } from "vitest";
import { client } from "@/api/client";
import { TagPicker } from "./TagPicker";

afterEach(() => {
  cleanup();
  vi.restoreAllMocks();
});

type Answer = "broken" | { items: string[]; next?: string };

/** Opens the picker; the API answers as told, one answer after the other. */
async function open(...answers: Answer[]) {
  const asked: (string | undefined)[] = [];
  const chosen = vi.fn();
  vi.spyOn(client, "GET").mockImplementation((async (
    _path: string,
    init: { params: { query: { cursor?: string } } },
  ) => {
    asked.push(init.params.query.cursor);
    const answer = answers.shift() ?? "broken";
    if (answer === "broken") {
      const problem = { title: "It broke.", status: 400, code: "broken", request_id: "r" };
      return { error: problem, response: new Response(null, { status: 400 }) };
    }
    const items = answer.items.map((tag) => ({ tag }));
    const data = { items, next_cursor: answer.next, total: 3, matching: 3 };
    return { data, response: new Response(null, { status: 200 }) };
  }) as unknown as typeof client.GET);
  const cache = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  render(
    <QueryClientProvider client={cache}>
      <TagPicker service="shop-api" step="api" value="" onChange={chosen} />
    </QueryClientProvider>,
  );
  await userEvent.click(screen.getByRole("button", { name: /^Version of api/ }));
  return { asked, chosen };
}

it("a first read that failed says so, with another try", async () => {
  await open("broken", { items: ["v1"] });
  expect((await screen.findByRole("alert")).textContent).toMatch(/The tags could not be read/);
  await userEvent.click(screen.getByRole("button", { name: "Try again" }));
  await screen.findByText("3 of 3 tags");
  expect(screen.queryByRole("alert")).toBeNull();
});

it("reads on when the end is in sight; a page that failed says so, and is read once more when asked", async () => {
  const { asked } = await open({ items: ["v3"], next: "a" }, "broken", { items: ["v2", "v1"] });
  expect((await screen.findByRole("alert")).textContent).toMatch(
    /rest of the tags could not be read/,
  );
  expect(asked).toEqual([undefined, "a"]);
  await userEvent.click(screen.getByRole("button", { name: "Try again" }));
  await vi.waitFor(() => expect(asked).toEqual([undefined, "a", "a"]));
  await vi.waitFor(() => expect(screen.queryByRole("alert")).toBeNull());
});

it("Enter takes of what was typed, never of the list before it", async () => {
  const { chosen } = await open({ items: ["v9", "v8"] }, { items: ["v2", "v2.1"] });
  await screen.findByText("3 of 3 tags");
  await userEvent.type(screen.getByRole("combobox"), "v2{Enter}");
  await vi.waitFor(() => expect(chosen).toHaveBeenCalled());
  expect(chosen.mock.calls).toEqual([["v2"]]);
});

it("does not say that nothing matches before that was answered", async () => {
  const { chosen } = await open({ items: [] }, { items: [] });
  await screen.findByText("The registry has no tag that matches.");
  await userEvent.type(screen.getByRole("combobox"), "x{Enter}");
  expect(screen.queryByText(/No tag contains/)).toBeNull();
  await screen.findByText("No tag contains “x”.");
  expect(chosen).not.toHaveBeenCalled();
});
