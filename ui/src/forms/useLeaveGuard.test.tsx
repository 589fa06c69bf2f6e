import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import {
  createBrowserHistory,
  createRootRoute,
  createRoute,
  createRouter,
  RouterProvider,
} from "@tanstack/react-router";
import { act, cleanup, render, screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, expect, it, vi } from "vitest";
import { Toasts } from "@/components/Toast";
import { TextField } from "./Fields";
import { FormSheet } from "./FormSheet";
import { useForm } from "./useForm";

let leave = () => {};

afterEach(() => {
  cleanup();
  leave();
});

let answer: (ok: boolean) => void;
const save = () =>
  new Promise<void>((resolve, reject) => {
    answer = (ok) => (ok ? resolve() : reject(new Error("silence")));
  });

function Sheet({ close }: { close: () => void }) {
  const form = useForm({ domain: "lab" }, { save, saved: close });
  return (
    <FormSheet title="qa" form={form} onClose={close}>
      <TextField form={form} name="domain" label="Domain" />
    </FormSheet>
  );
}

/** A list, and a sheet that was opened from it. */
async function show() {
  const close = vi.fn();
  const root = createRootRoute();
  const list = createRoute({ getParentRoute: () => root, path: "/", component: () => "the list" });
  const sheet = createRoute({
    getParentRoute: () => root,
    path: "/qa",
    component: () => <Sheet close={close} />,
  });
  // The browser's own: only with that does Back come from outside the page.
  window.history.replaceState({}, "", "/");
  const history = createBrowserHistory();
  leave = history.destroy;
  const router = createRouter({ routeTree: root.addChildren([list, sheet]), history });
  render(
    <QueryClientProvider client={new QueryClient()}>
      <Toasts>
        <RouterProvider router={router as never} />
      </Toasts>
    </QueryClientProvider>,
  );
  await screen.findByText("the list");
  await act(() => router.navigate({ to: "/qa" as string }));
  await screen.findByLabelText("Domain");
  const back = () =>
    act(async () => {
      const popped = new Promise((done) => window.addEventListener("popstate", done));
      window.history.back();
      await popped;
    });
  return { close, back, path: () => history.location.pathname };
}

it("goes back when nothing would be lost", async () => {
  const { back, path } = await show();
  await back();
  await waitFor(() => expect(path()).toBe("/"));
});

it("asks before Back loses what was typed", async () => {
  const { back, path, close } = await show();
  await userEvent.type(screen.getByLabelText("Domain"), "x");
  await back();
  await screen.findByText("Leave without saving?");
  expect(path()).toBe("/qa");
  await userEvent.click(screen.getByRole("button", { name: "Leave" }));
  expect(close).toHaveBeenCalled();
});

it("stays while a save is under way, so that its refusal is seen", async () => {
  const { back, path } = await show();
  await userEvent.type(screen.getByLabelText("Domain"), "x");
  await userEvent.click(screen.getByRole("button", { name: /Ctrl Enter/ }));
  await back();
  expect(path()).toBe("/qa");
  expect(screen.queryByText("Leave without saving?")).toBeNull();
  answer(false);
  await screen.findByText(/Not saved\./);
  expect((screen.getByLabelText("Domain") as HTMLInputElement).value).toBe("labx");
});
