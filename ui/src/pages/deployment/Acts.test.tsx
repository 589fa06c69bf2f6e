import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import {
  createMemoryHistory,
  createRootRoute,
  createRouter,
  RouterProvider,
} from "@tanstack/react-router";
import { cleanup, configure, render, screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, describe, expect, it, vi } from "vitest";
import { client, type Deployment } from "@/api/client";
import { LackLine } from "@/components/lack";
import { Acts } from "./Acts";
import { Recreate } from "./Recreate";

// What a machine under load needs; nothing here is about time.
configure({ asyncUtilTimeout: 30_000 });

afterEach(() => {
  cleanup();
  vi.restoreAllMocks();
});

const made = (more: Partial<Deployment> = {}) =>
  ({
    id: "d1",
    name: "cart",
    project: "shop",
    environment: "qa",
    status: "ready",
    level: "full",
    services: [],
    expires_at: "2099-01-01T00:00:00Z",
    ...more,
  }) as unknown as Deployment;
const hold = { owner: "bob", reason: "a demo", since: "2026-11-21T12:00:00Z" };

/** As somebody called ann sees it. */
async function show(page: () => React.ReactNode) {
  const cache = new QueryClient({ defaultOptions: { queries: { staleTime: Infinity } } });
  cache.setQueryData(["me"], { name: "ann", role: "user", can_create: true });
  const lack = { level: "read", missing: "full access to project shop", ask: ["root"] };
  cache.setQueryData(["access", "deployments of shop on qa"], lack);
  const history = createMemoryHistory({ initialEntries: ["/"] });
  const router = createRouter({ routeTree: createRootRoute({ component: page }), history });
  render(
    <QueryClientProvider client={cache}>
      {/* biome-ignore lint/suspicious/noExplicitAny: a router of this test, not the page's. */}
      <RouterProvider router={router as any} />
    </QueryClientProvider>,
  );
}

const button = (name: RegExp) => screen.findByRole("button", { name });
const reason = async (name: RegExp) => (await button(name)).getAttribute("title");

type Answered = Awaited<ReturnType<typeof client.POST>>;

function answers() {
  const data = made({ name: "cart-bug" });
  const told = { data, response: new Response(null, { status: 201 }) };
  return vi.spyOn(client, "POST").mockResolvedValue(told as Answered);
}

describe("the acts on a deployment", () => {
  it("are not offered against somebody's hold, neither by button nor by key", async () => {
    const post = answers();
    await show(() => <Acts deployment={made({ hold, expires_at: undefined })} steps={[]} />);
    expect(await reason(/^Delete/)).toMatch(/bob holds it/);
    expect(await reason(/^Release/)).toMatch(/bob holds it/);
    expect(screen.queryByRole("button", { name: /^Extend/ })).toBeNull();
    await userEvent.keyboard("e");
    expect(post).not.toHaveBeenCalled();
  });

  it("keep nothing that is being removed", async () => {
    const post = answers();
    await show(() => <Acts deployment={made({ status: "removing" })} steps={[]} />);
    expect(await reason(/^Hold/)).toMatch(/being removed/);
    expect(await reason(/^Extend/)).toMatch(/being removed/);
    await userEvent.keyboard("e");
    expect(post).not.toHaveBeenCalled();
  });

  it("extend by key what has an end", async () => {
    const post = answers();
    await show(() => <Acts deployment={made()} steps={[]} />);
    expect(await reason(/^Extend/)).toBeNull();
    await userEvent.keyboard("e");
    await waitFor(() => expect(post).toHaveBeenCalledOnce());
  });
});

describe("a copy from the bug capsule", () => {
  it("is not offered to a viewer, nor of a drawing", async () => {
    await show(() => (
      <>
        <LackLine />
        <Recreate deployment={made({ level: "read" })} />
      </>
    ));
    const line = await screen.findByRole("note");
    expect(line.textContent).toMatch(/needs Full on shop.*root can give it/);
    expect(screen.queryByRole("button", { name: /^Recreate/ })).toBeNull();
    cleanup();
    await show(() => <Recreate deployment={made({ scratch: true })} />);
    expect(await reason(/^Recreate/)).toMatch(/cannot be recreated/);
  });

  it("is made once, under a name that is free", async () => {
    const post = answers();
    await show(() => <Recreate deployment={made()} />);
    const name = await screen.findByLabelText("Name of the copy");
    await userEvent.clear(name);
    await userEvent.type(name, "cart");
    expect(await reason(/^Recreate/)).toMatch(/cart is there/);
    await userEvent.type(name, "-2");
    await userEvent.click(await button(/^Recreate/));
    await waitFor(() => expect(post).toHaveBeenCalledOnce());
    const sent = post.mock.calls[0]?.[1] as unknown as { params: { header: object }; body: object };
    expect(sent.body).toEqual({ name: "cart-2", pin_digests: true });
    expect(Object.keys(sent.params.header)).toEqual(["Idempotency-Key"]);
  });
});
