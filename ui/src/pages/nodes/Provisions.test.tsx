import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { act, cleanup, render, screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { client, type NodeInfo } from "@/api/client";
import type { ServerEvent } from "@/api/sse";
import { Toasts } from "@/components/Toast";
import { nodeTexts } from "@/nodeTexts";
import { type Attempt, Provisions } from "./Provisions";

/** The page's stream: where it is opened, and what it hears. */
const stream = vi.hoisted(() => ({
  url: null as string | null,
  hear: (_: unknown[]): void => undefined,
}));

vi.mock("@/api/useLive", () => ({
  useLive: (url: string | null, hear: typeof stream.hear) => {
    Object.assign(stream, { url, hear });
    return { kind: "live", since: 0 };
  },
}));

const t = nodeTexts.ssh;
const at = "2026-11-21T12:00:00Z";
const first: Attempt = {
  node: "fra-01",
  number: 1,
  state: "provisioning",
  started_by: "ada",
  created_at: at,
  steps: [],
};

let items: Attempt[];

beforeEach(() => {
  items = [first];
  vi.spyOn(client, "GET").mockImplementation((async () => ({
    data: { items },
    response: new Response(),
  })) as never);
});

afterEach(() => {
  cleanup();
  vi.restoreAllMocks();
});

async function show() {
  render(
    <QueryClientProvider client={new QueryClient()}>
      <Toasts>
        <Provisions node={{ name: "fra-01", status: "enrolled" } as NodeInfo} />
      </Toasts>
    </QueryClientProvider>,
  );
  await screen.findByText(t.states.provisioning);
}

const says = (event: string, data: object) =>
  act(async () => stream.hear([{ event, data: JSON.stringify(data), id: "" } as ServerEvent]));
const step = (more: object) => ({ seq: 1, status: "running", output: "", started_at: at, ...more });

it("shows each step of an attempt as it is told, without a word from the API", async () => {
  await show();
  expect(stream.url).toBe("/api/v1/nodes/fra-01/provisions/1/events");
  const asked = vi.mocked(client.GET).mock.calls.length;
  await says("step", step({ key: "connect" }));
  await says("step", step({ seq: 2, key: "upload", output: "12 MiB" }));
  for (const text of ["connect", "upload", "12 MiB"]) expect(screen.getByText(text)).toBeTruthy();
  expect(vi.mocked(client.GET).mock.calls).toHaveLength(asked);
  // While it goes on there is nothing to begin.
  expect(screen.queryByRole("button", { name: t.begin })).toBeNull();
});

it("says why it failed, and tries again with the sign-in that is kept", async () => {
  await show();
  const failed: Attempt = { ...first, state: "error", message: "no room on /" };
  items = [failed];
  await says("provision", failed);
  await screen.findByText("no room on /");
  expect(stream.url).toBeNull();
  const post = vi.spyOn(client, "POST").mockImplementation((async () => {
    items = [{ ...first, number: 2, state: "pending" }, failed];
    return { data: items[0], response: new Response() };
  }) as never);
  await userEvent.click(screen.getByRole("button", { name: t.again }));
  expect(post).toHaveBeenCalledExactlyOnceWith("/api/v1/nodes/{name}/provisions", {
    params: { path: { name: "fra-01" } },
    body: {},
  });
  await screen.findByText(t.states.pending);
  await waitFor(() => expect(stream.url).toBe("/api/v1/nodes/fra-01/provisions/2/events"));
});
