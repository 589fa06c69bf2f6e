import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { act, cleanup, renderHook, waitFor } from "@testing-library/react";
import type { ReactNode } from "react";
import { afterEach, expect, it, vi } from "vitest";
import { client, type Deployment } from "@/api/client";
import type { ServerEvent } from "@/api/sse";
import { useList } from "./useList";

let tell: (events: ServerEvent[]) => void = () => {};
vi.mock("@/api/useLive", () => ({
  useLive: (_url: string, onEvents: typeof tell) => {
    tell = onEvents;
    return { kind: "live", since: 0 };
  },
}));

afterEach(() => {
  cleanup();
  vi.restoreAllMocks();
});

const make = (id: string, revision: number, status = "applying") =>
  ({ id, revision, status }) as unknown as Deployment;
const said = (one: Deployment): ServerEvent => ({
  id: "",
  event: "deployment",
  data: JSON.stringify(one),
});

/** The list, and the way to answer its next read. */
function show() {
  const answers: ((items: Deployment[]) => void)[] = [];
  const get = vi.spyOn(client, "GET").mockImplementation(
    (() =>
      new Promise((resolve) => {
        const response = new Response(null, { status: 200 });
        answers.push((items) => resolve({ data: { items }, response } as never));
      })) as unknown as typeof client.GET,
  );
  const cache = new QueryClient();
  const wrapper = ({ children }: { children: ReactNode }) => (
    <QueryClientProvider client={cache}>{children}</QueryClientProvider>
  );
  const { result } = renderHook(() => useList(), { wrapper });
  const rows = () => result.current.query.data?.map((one) => `${one.id} ${one.revision}`);
  return { rows, get, answer: (items: Deployment[]) => act(async () => answers.shift()?.(items)) };
}

it("keeps what was told before it was read first", async () => {
  const { rows, answer } = show();
  act(() => tell([said(make("a", 5)), said(make("new", 1)), said(make("gone", 2, "removed"))]));
  await answer([make("a", 4), make("b", 1)]);
  await waitFor(() => expect(rows()).toEqual(["new 1", "a 5", "b 1"]));
});

it("keeps what was made while it was read again", async () => {
  const { rows, answer } = show();
  await answer([make("a", 1)]);
  act(() => tell([{ id: "", event: "reset", data: "{}" }]));
  act(() => tell([said(make("new", 1))]));
  await answer([make("a", 1)]);
  await waitFor(() => expect(rows()).toEqual(["new 1", "a 1"]));
});

it("reads once more when the stream began only while it was read", async () => {
  const { get, answer } = show();
  act(() => tell([{ id: "", event: "reset", data: "{}" }]));
  expect(get).toHaveBeenCalledTimes(1);
  await answer([]);
  await waitFor(() => expect(get).toHaveBeenCalledTimes(2));
});
