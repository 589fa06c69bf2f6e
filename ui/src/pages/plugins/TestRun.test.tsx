import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { client, type Schemas } from "@/api/client";
import TestRun from "./TestRun";

afterEach(() => {
  cleanup();
  vi.restoreAllMocks();
});

const response = new Response();
const named = (...names: string[]) => ({
  data: { items: names.map((name) => ({ name })) },
  response,
});
const refused = {
  error: { title: "The key is missing.", status: 503, code: "x", request_id: "req-3" },
  response: new Response(null, { status: 503 }),
};
let unread = false;

beforeEach(() => {
  unread = false;
  vi.spyOn(client, "GET").mockImplementation((async (
    path: string,
    sent: { params: { path: { name: string } } },
  ) => {
    if (path === "/api/v1/projects") return named("shop", "bank");
    if (path === "/api/v1/environments") return named("qa");
    if (unread) return refused;
    return sent.params.path.name === "shop" ? named("API_TOKEN") : named("OTHER");
  }) as never);
  vi.spyOn(client, "POST").mockResolvedValue(refused as never);
});

const plugin = {
  name: "greet",
  component: { secrets: [{ name: "TOKEN", required: true }] },
} as Schemas["Plugin"];

function show(tried = plugin) {
  const cache = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  render(
    <QueryClientProvider client={cache}>
      <TestRun plugin={tried} close={() => {}} />
    </QueryClientProvider>,
  );
}

it("sends no secret that was chosen of another project", async () => {
  show();
  await screen.findByRole("option", { name: "API_TOKEN" });
  await userEvent.selectOptions(screen.getByLabelText("TOKEN"), "API_TOKEN");
  await userEvent.selectOptions(screen.getByLabelText("Project"), "bank");
  await screen.findByRole("option", { name: "OTHER" });
  await userEvent.click(screen.getByRole("button", { name: "Run it" }));
  await vi.waitFor(() => expect(client.POST).toHaveBeenCalled());
  const [, sent] = vi.mocked(client.POST).mock.calls[0] as unknown as [
    string,
    { body: { pipeline: Schemas["Pipeline"] } },
  ];
  expect(sent.body.pipeline.steps[0]?.plugin?.secrets).toBeUndefined();
});

it("says so when the project's secrets could not be read", async () => {
  unread = true;
  show();
  await screen.findByText("The secrets could not be read. The key is missing.");
  screen.getByText("request req-3");
});

it("runs nothing while what is typed can't be read", async () => {
  const parameters = { properties: { command: { title: "Command" } } };
  show({ ...plugin, component: { parameters } });
  const field = await screen.findByLabelText("Command");
  await userEvent.type(field, '[["sh"');
  await userEvent.click(screen.getByRole("button", { name: "Run it" }));
  expect(client.POST).not.toHaveBeenCalled();
  await userEvent.type(field, "]");
  await userEvent.click(screen.getByRole("button", { name: "Run it" }));
  await vi.waitFor(() => expect(client.POST).toHaveBeenCalledOnce());
});
