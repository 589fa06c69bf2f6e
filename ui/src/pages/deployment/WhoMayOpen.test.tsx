import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, configure, render, screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, expect, it, vi } from "vitest";
import { client, type Schemas } from "@/api/client";
import { Toasts } from "@/components/Toast";
import { deployment } from "../components/examples";
import { WhoMayOpen } from "./WhoMayOpen";

configure({ asyncUtilTimeout: 30_000 });

afterEach(() => {
  cleanup();
  vi.restoreAllMocks();
});

const response = new Response();
const pass: Schemas["Pass"] = {
  id: "p1",
  kind: "guest",
  label: "The tester at ACME",
  created_by: "ada",
  created_at: "2026-11-22T07:00:00Z",
  expires_at: "2026-11-29T07:00:00Z",
};

/** An API with this gate and the one link above. */
function show(gate: Schemas["DeploymentGate"], level: "full" | "read" = "full") {
  const asked: { method: string; path: string; body?: object }[] = [];
  const answers = (path: string) =>
    path.endsWith("/gate")
      ? gate
      : path.startsWith("/api/v1/me")
        ? { level: "read", ask: ["mira"], explanation: "" }
        : { items: [pass] };
  vi.spyOn(client, "GET").mockImplementation((async (path: string) => ({
    data: answers(path),
    response,
  })) as never);
  const write = (method: string, data: object) =>
    (async (path: string, init: { body?: object }) => {
      asked.push({ method, path, body: init.body });
      return { data, response };
    }) as never;
  vi.spyOn(client, "PUT").mockImplementation(write("PUT", { ...gate, gate: "members" }));
  vi.spyOn(client, "POST").mockImplementation(
    write("POST", { pass, url: "https://web.example.org/.nullops/guest#nogg_1" }),
  );
  vi.spyOn(client, "DELETE").mockImplementation(write("DELETE", {}));
  render(
    <QueryClientProvider
      client={new QueryClient({ defaultOptions: { queries: { retry: false } } })}
    >
      <Toasts>
        <WhoMayOpen deployment={deployment("ready", { level })} />
      </Toasts>
    </QueryClientProvider>,
  );
  return asked;
}

const guests = { gate: "open", environment_gate: "guests", effective: "guests" } as const;

it("makes a deployment stricter than its environment, once that was asked and answered", async () => {
  const asked = show(guests);
  const rule = await screen.findByLabelText("Its own rule");
  expect(
    within(rule)
      .getAllByRole("option")
      .map((one) => one.textContent),
  ).toEqual(["As qa-eu: Team members, and people with a guest link", "Team members, signed in"]);
  await userEvent.selectOptions(rule, "members");
  expect(asked).toEqual([]);
  await userEvent.click(await screen.findByRole("button", { name: "Change it" }));
  await waitFor(() => expect(asked).toMatchObject([{ method: "PUT", body: { gate: "members" } }]));
});

it("makes a guest link, shows it once, and withdraws one after a question", async () => {
  const asked = show(guests);
  await userEvent.type(await screen.findByLabelText("Who it is for"), "Ann{Enter}");
  await screen.findByText("https://web.example.org/.nullops/guest#nogg_1");
  expect(asked).toMatchObject([{ method: "POST", body: { label: "Ann", hours: 168 } }]);
  const withdraw = { name: "Withdraw the link of The tester at ACME" };
  await userEvent.click(screen.getByRole("button", withdraw));
  const question = await screen.findByRole("dialog");
  await userEvent.click(within(question).getByRole("button", { name: "Withdraw" }));
  await waitFor(() => expect(asked[1]).toMatchObject({ method: "DELETE" }));
});

it("says that links open nothing while only members may, and that this is as strict as can be", async () => {
  show({ gate: "open", environment_gate: "members", effective: "members" });
  expect(await screen.findByText(/guest links open nothing now/)).toBeTruthy();
  const rule = screen.getByLabelText("Its own rule");
  expect(rule.hasAttribute("disabled")).toBe(true);
  expect(screen.getByText("Its environment already has the strictest rule.")).toBeTruthy();
});

it("shows who may only look what holds, and nothing to change it with", async () => {
  show(guests, "read");
  await screen.findByText("The tester at ACME");
  expect(screen.getByText(/people with a guest link/)).toBeTruthy();
  expect(screen.queryByRole("button", { name: /guest link|Withdraw/ })).toBeNull();
  expect(screen.queryByLabelText("Its own rule")).toBeNull();
});
