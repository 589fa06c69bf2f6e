import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, expect, it, vi } from "vitest";
import { client, type Deployment } from "@/api/client";
import { DeploymentPicker } from "./DeploymentPicker";

afterEach(() => {
  cleanup();
  vi.restoreAllMocks();
});

const make = (id: string, name: string, status = "ready") =>
  ({
    id,
    name,
    status,
    environment: "qa",
    project: "shop",
    changed_at: new Date(Date.now() - 7_260_000).toISOString(),
  }) as Deployment;
const live = [make("2", "pay"), make("1", "cart")];
const gone = [make("9", "cart-old", "removed")];

/** The picker, opened. */
async function open() {
  // jsdom lays nothing out.
  Element.prototype.scrollIntoView = () => {};
  const response = new Response(null, { status: 200 });
  type Asked = {
    params: { path?: { id: string }; query?: { removed?: boolean; search?: string } };
  };
  vi.spyOn(client, "GET").mockImplementation((async (_: string, { params }: Asked) => {
    const { path, query } = params;
    if (path) return { data: gone[0], response };
    const items = query?.removed
      ? gone.filter((one) => one.name.includes(query.search ?? ""))
      : live;
    return { data: { items }, response };
  }) as unknown as typeof client.GET);
  const picked = vi.fn();
  render(
    <QueryClientProvider client={new QueryClient()}>
      <DeploymentPicker label="First" id="9" onPick={picked} />
    </QueryClientProvider>,
  );
  await userEvent.click(await screen.findByRole("button", { name: "First: qa/cart-old" }));
  await screen.findByText("3 deployments");
  return picked;
}

const options = () => screen.getAllByRole("option").map((one) => one.textContent);

it("offers what runs in order, then records, which say so", async () => {
  await open();
  expect(options()).toEqual(["qa/cartshop", "qa/payshop", "qa/cart-oldshopRemoved 2 h ago"]);
});

it("is searched and chosen from by keys alone", async () => {
  const picked = await open();
  await userEvent.type(screen.getByRole("combobox"), "cart");
  await screen.findByText("2 deployments");
  await userEvent.keyboard("{ArrowDown}{Enter}");
  expect(picked.mock.calls).toEqual([["9"]]);
});
