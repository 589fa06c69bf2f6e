import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import {
  createMemoryHistory,
  createRootRoute,
  createRoute,
  createRouter,
  Outlet,
  RouterProvider,
} from "@tanstack/react-router";
import { act, cleanup, render, screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { client } from "@/api/client";
import { Toasts } from "@/components/Toast";
import { Create } from "./Create";
import { readCreateSearch } from "./search";

afterEach(() => {
  cleanup();
  vi.restoreAllMocks();
});

const service = {
  step: "api",
  service: "shop-api",
  tag_mode: "selectable",
  image: "api",
  tag: "v1",
};
const project = (name: string) => ({
  name,
  pipeline_version: 1,
  can_create: true,
  services: [service],
});
const environment = { name: "qa", can_create: true, url_suffix: ".qa.lab", nodes_online: 1 };
const clone = {
  source: { id: "c1", name: "cart", project: "shop", environment: "qa", pipeline_version: 1 },
  name: "cart-2",
  services: [],
  pipeline_version: 1,
  pipeline_changes: [],
  resources: { before: {}, after: {} },
  carried_over: [],
  not_carried_over: [],
};
const TAGS = "/api/v1/services/{name}/tags";
const CLONE = "/api/v1/deployments/{id}/clone-sheet";
const began = {
  "/api/v1/me": { name: "lena", role: "admin", can_create: true },
  "/api/v1/projects": { items: [project("shop"), project("bank"), { name: "draft" }] },
  "/api/v1/environments": { items: [environment, { ...environment, name: "eu" }] },
  "/api/v1/projects/{name}/pipeline": { pipeline: { steps: [] } },
  [CLONE]: clone,
};
/** What the API answers; what is in `slow` instead when its time has come. */
let answers: Record<string, unknown> = began;
let slow: Record<string, Promise<unknown>> = {};

beforeEach(() => {
  answers = { ...began };
  slow = {};
});

/** The sheet at an address, with a router of the same shape as ours; `asked` is what was checked. */
async function show(search: string) {
  const response = new Response(null, { status: 200 });
  vi.spyOn(client, "GET").mockImplementation((async (path: string) => ({
    data: (await slow[path]) ?? answers[path] ?? { items: [] },
    response,
  })) as unknown as typeof client.GET);
  const post = vi.spyOn(client, "POST").mockImplementation((async () => ({
    data: { checks: [], nodes: [] },
    response,
  })) as unknown as typeof client.POST);
  const root = createRootRoute({ component: Outlet });
  const app = createRoute({ getParentRoute: () => root, id: "app", component: Outlet });
  const list = createRoute({
    getParentRoute: () => app,
    path: "/deployments",
    component: () => (
      <>
        <p>The list</p>
        <Outlet />
      </>
    ),
  });
  const sheet = createRoute({
    getParentRoute: () => list,
    path: "/new",
    validateSearch: readCreateSearch,
    component: Create,
  });
  const history = createMemoryHistory({ initialEntries: [`/deployments/new${search}`] });
  const routeTree = root.addChildren([app.addChildren([list.addChildren([sheet])])]);
  const router = createRouter({ routeTree, history });
  await act(async () =>
    render(
      <QueryClientProvider client={new QueryClient()}>
        <Toasts>
          <RouterProvider router={router as never} />
        </Toasts>
      </QueryClientProvider>,
    ),
  );
  await screen.findByRole("button", { name: /^Create deployment/ });
  const asked = () => (post.mock.lastCall as unknown as [string, { body: object }])?.[1].body;
  const made = () => (post.mock.calls as unknown as [string][]).filter(([path]) => path === MAKE);
  return { history, asked, made };
}

const MAKE = "/api/v1/deployments";
const list = encodeURIComponent(JSON.stringify({ view: "mine", q: "cart" }));
const submit = () => screen.getByRole("button", { name: /^Create deployment/ });

it("closes at once when nothing would be lost, back to the list as it was filtered", async () => {
  const { history } = await show(`?list=${list}`);
  await userEvent.keyboard("{Escape}");
  await waitFor(() => expect(history.location.href).toBe("/deployments?view=mine&q=cart"));
});

it("asks before it throws away what was typed, and keeps it in the address", async () => {
  const { history } = await show("?project=shop");
  await userEvent.type(screen.getByLabelText("Name"), "cart-x");
  await waitFor(() => expect(history.location.search).toBe("?project=shop&name=cart-x"));
  await userEvent.keyboard("{Escape}");
  const asks = await screen.findByRole("dialog", { name: "Leave without creating?" });
  await userEvent.click(within(asks).getByRole("button", { name: "Stay" }));
  expect((screen.getByLabelText("Name") as HTMLInputElement).value).toBe("cart-x");
  expect(history.location.pathname).toBe("/deployments/new");
  await userEvent.click(screen.getByRole("button", { name: "Close" }));
  await userEvent.click(await screen.findByRole("button", { name: "Leave" }));
  await waitFor(() => expect(history.location.href).toBe("/deployments"));
});

it("begins with the name and the versions of the address", async () => {
  const { asked } = await show("?project=shop&env=qa&name=cart&v.api=v7");
  screen.getByRole("button", { name: "Version of api: v7" });
  const body = { name: "cart", project: "shop", environment: "qa", versions: { api: "v7" } };
  await waitFor(() => expect(asked()).toMatchObject(body));
});

it("chooses nothing in place of a project that is not there, and says why nothing is made", async () => {
  await show("?project=gone");
  expect(screen.getByRole("alert").textContent).toMatch(/no project gone/);
  screen.getByRole("combobox", { name: "Project: Choose a project" });
  expect(submit().title).toMatch(/no project gone/);
});

it("asks for the labels that its node must have, and asks before it loses them", async () => {
  const { asked } = await show("?project=shop&env=qa&name=cart&v.api=v7");
  await waitFor(() => expect(asked()).toMatchObject({ name: "cart" }));
  expect(asked()).not.toHaveProperty("required_labels");
  await userEvent.type(screen.getByLabelText(/^Labels its node must have/), "gpu zone=fra");
  await waitFor(() => expect(asked()).toMatchObject({ required_labels: ["gpu", "zone=fra"] }));
  await userEvent.keyboard("{Escape}");
  await screen.findByRole("button", { name: "Leave" });
});

it("a clone of another project is none: nothing of the source differs, nothing is sent of it", async () => {
  const same = await show("?from=c1");
  screen.getByRole("heading", { name: "What will differ" });
  await waitFor(() => expect(same.asked()).toMatchObject({ name: "cart-2", cloned_from: "c1" }));
  cleanup();
  const { asked } = await show("?from=c1&project=bank");
  expect(screen.queryByRole("heading", { name: "What will differ" })).toBeNull();
  await waitFor(() => expect(asked()).toMatchObject({ project: "bank" }));
  expect(asked()).not.toHaveProperty("cloned_from");
});

it("Ctrl Enter in the name creates once", async () => {
  const { made } = await show("?project=shop&env=qa&name=cart");
  await userEvent.type(screen.getByLabelText("Name"), "{Control>}{Enter}{/Control}");
  await waitFor(() => expect(made()).toHaveLength(1));
});

it.each([
  ["a select of the head", "combobox", /^Environment/],
  ["an act of the foot", "button", /^Save as template/],
] as const)("Ctrl Enter on %s creates once, and presses nothing else", async (_, role, name) => {
  const { made } = await show("?project=shop&env=qa&name=cart");
  screen.getByRole(role, { name }).focus();
  await userEvent.keyboard("{Control>}{Enter}{/Control}");
  await waitFor(() => expect(made()).toHaveLength(1));
  await waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());
});

it("what a clone carries over is told of the form as it is now", async () => {
  const same = { ...service, state: "same", source_tag: "v7", choice: "v7" };
  answers[CLONE] = {
    ...clone,
    services: [same],
    carried_over: ["project and environment", "api:v7"],
  };
  await show("?from=c1");
  const carried = () => screen.getByText("Carried over:").parentElement?.textContent;
  expect(carried()).toBe("Carried over: project and environment, api:v7");
  cleanup();
  await show("?from=c1&env=eu&v.api=v9");
  expect(carried()).toBe("Carried over: project");
});

it("a pinned tag that has moved since the source was made says so in the clone", async () => {
  const pinned = { ...service, step: "db", tag_mode: "pinned", tag: "17" };
  const was = { ...pinned, state: "same", source_tag: "17", source_moved: true, choice: "17" };
  answers["/api/v1/projects"] = { items: [{ ...project("shop"), services: [pinned] }] };
  answers[CLONE] = { ...clone, services: [was] };
  await show("?from=c1");
  screen.getByText("The tag points to a different image now.");
  cleanup();
  answers[CLONE] = { ...clone, services: [{ ...was, source_moved: false }] };
  await show("?from=c1");
  // The checks beside it say “now” by themselves when they are done.
  expect(screen.queryByText(/another image|→/)).toBeNull();
});

it("while a registry is asked the row says so, and when it does not answer why", async () => {
  const { tag: _, ...open } = service;
  answers["/api/v1/projects"] = { items: [{ ...project("shop"), services: [open] }] };
  const list = {
    items: [],
    stale: true,
    stale_reason: "It is down.",
    read_at: "2026-11-21T12:00:00Z",
  };
  let answer = () => {};
  const asked = new Promise<void>((resolve) => {
    answer = resolve;
  });
  slow[TAGS] = asked.then(() => list);
  await show("?project=shop&env=qa&name=cart");
  screen.getByRole("button", { name: "Version of api: Reading the registry…" });
  await act(async () => answer());
  await screen.findByRole("button", { name: "Version of api: Choose a version" });
  await screen.findByText(/It is down\. The list is .* old/);
});

it("the address follows the name back to what it was", async () => {
  const { history } = await show("?project=shop&name=cart");
  await userEvent.type(screen.getByLabelText("Name"), "2");
  await waitFor(() => expect(history.location.search).toBe("?project=shop&name=cart2"));
  await userEvent.type(screen.getByLabelText("Name"), "{Backspace}");
  await waitFor(() => expect(history.location.search).toBe("?project=shop&name=cart"));
});

const PIPELINE = "/api/v1/projects/{name}/pipeline";
const input = [
  { name: "seed", label: "Seed data", type: "string", required: true },
  { name: "rows", type: "integer", default: 20 },
  { name: "mode", type: "choice", choices: ["fast", "full"], default: "fast" },
  { name: "debug", type: "boolean" },
];

it("asks for the input that the pipeline declares, and leaves defaults to it", async () => {
  answers[PIPELINE] = { pipeline: { steps: [], input } };
  const { asked, made } = await show("?project=shop&env=qa&name=cart");
  const seed = await screen.findByLabelText("Seed data");
  await userEvent.click(submit());
  screen.getByText("Fill in Seed data.");
  expect(made()).toHaveLength(0);
  expect(asked()).not.toHaveProperty("input");
  screen.getByText("20 if it is empty.");
  screen.getByRole("combobox", { name: "mode: fast" });
  await userEvent.type(seed, "${{{{ x }}");
  await userEvent.type(screen.getByLabelText("rows"), "7");
  await userEvent.click(screen.getByLabelText("debug"));
  const values = { seed: "${{ x }}", rows: 7, debug: true };
  await waitFor(() => expect(asked()).toHaveProperty("input", values));
  await userEvent.click(submit());
  await waitFor(() => expect(made()).toHaveLength(1));
});

it("keeps a source's input, and says what of it the pipeline does not take any more", async () => {
  answers[PIPELINE] = { pipeline: { steps: [], input } };
  answers[CLONE] = {
    ...clone,
    input: [
      { name: "seed", state: "same", source: "abc", problem: "give at most 2" },
      { name: "rows", state: "same", source: 3, choice: 3 },
      {
        name: "mode",
        state: "same",
        source: "slow",
        choice: "fast",
        problem: "choose one of fast",
      },
      { name: "owner", state: "removed", source: "me", problem: "gone" },
    ],
  };
  const { asked } = await show("?from=c1");
  await waitFor(() => expect(asked()).toHaveProperty("input", { rows: 3 }));
  screen.getByText("The source's value is not taken over: give at most 2.");
  screen.getByText("The source's value is not taken over: choose one of fast.");
  screen.getByText("owner is left out: the pipeline no longer declares it.");
  await userEvent.type(screen.getByLabelText("Seed data"), "ab");
  expect(screen.queryByText(/give at most 2/)).toBeNull();
  await waitFor(() => expect(asked()).toHaveProperty("input", { rows: 3, seed: "ab" }));
});
