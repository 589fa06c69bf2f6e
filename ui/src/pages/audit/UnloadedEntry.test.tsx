import { QueryClient, QueryClientProvider, useInfiniteQuery } from "@tanstack/react-query";
import { act, cleanup, render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, expect, it, vi } from "vitest";
import type { Schemas } from "@/api/client";
import { UnloadedEntry } from "./UnloadedEntry";

afterEach(cleanup);

type Page = Schemas["AuditList"];
const page = (id: number): Page => ({
  items: [{ id: String(id), at: "", actor: "ada", action: "x", object: "", result: "ok" }],
  next_cursor: id > 1 ? String(id - 1) : undefined,
});

type Read = (filter: string, from: number) => Promise<Page>;

function List({ read, filter, open }: { read: Read; filter: string; open: string }) {
  const query = useInfiniteQuery({
    queryKey: [filter],
    queryFn: ({ pageParam }) => read(filter, Number(pageParam)),
    initialPageParam: "9",
    getNextPageParam: (last) => last.next_cursor,
    retry: false,
  });
  const entries = query.data?.pages.flatMap((one) => one.items) ?? [];
  return query.data ? (
    <UnloadedEntry key={filter} open={open} entries={entries} query={query} />
  ) : null;
}

function show(read: Read) {
  const cache = new QueryClient();
  const tree = (filter: string, open = "5") => (
    <QueryClientProvider client={cache}>
      <List read={read} filter={filter} open={open} />
    </QueryClientProvider>
  );
  const { rerender, unmount } = render(tree("a"));
  return { other: (filter: string) => rerender(tree(filter)), unmount };
}

const seek = async () =>
  userEvent.click(await screen.findByRole("button", { name: "Read back to it" }));
const turns = () => act(() => new Promise((done) => setTimeout(done, 50)));

it("reads back until the entry is there, and no further", async () => {
  const read = vi.fn(async (_: string, from: number) => page(from));
  show(read);
  await seek();
  await vi.waitFor(() => expect(screen.queryByRole("status")).toBeNull());
  await turns();
  expect(read.mock.calls.map(([, from]) => from)).toEqual([9, 8, 7, 6, 5]);
});

it("stops at a refusal and says so, until somebody asks again", async () => {
  let refused = true;
  const read = vi.fn(async (_: string, from: number) => {
    if (from < 9 && refused) throw new Error("no");
    return page(from);
  });
  show(read);
  await seek();
  await screen.findByText("Reading back to it stopped.");
  await turns();
  expect(read).toHaveBeenCalledTimes(2);
  refused = false;
  await seek();
  await vi.waitFor(() => expect(screen.queryByRole("status")).toBeNull());
});

/** A list whose older pages come when the test says so. */
function slow() {
  const waiting: (() => void)[] = [];
  const read = vi.fn(async (_: string, from: number) => {
    if (from < 9) await new Promise<void>((done) => waiting.push(done));
    return page(from);
  });
  return { read, arrive: () => waiting.shift()?.() };
}

it.each([
  ["another filter is chosen", ({ other }: ReturnType<typeof show>) => other("b")],
  ["the page is left", ({ unmount }: ReturnType<typeof show>) => unmount()],
])("reads no further once %s", async (_, leave) => {
  const { read, arrive } = slow();
  const shown = show(read);
  await seek();
  leave(shown);
  arrive();
  await turns();
  expect(read.mock.calls.filter(([, from]) => from < 9)).toHaveLength(1);
});
