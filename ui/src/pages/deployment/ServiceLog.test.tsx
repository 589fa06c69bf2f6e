import {
  createMemoryHistory,
  createRootRoute,
  createRouter,
  RouterProvider,
} from "@tanstack/react-router";
import { cleanup, configure, render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, expect, it, vi } from "vitest";
import { ServiceLog } from "./ServiceLog";

configure({ asyncUtilTimeout: 30_000 });

afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});

const stream = (event: string, data: object) =>
  `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
const line = stream("line", { at: "2026-11-21T12:00:00Z", text: "listening" });

/** A server that gives these answers, one after the other. */
function server(...answers: Response[]) {
  const fetch = vi.fn(async () => answers.shift() ?? new Response(stream("end", {})));
  vi.stubGlobal("fetch", fetch);
  const component = () => <ServiceLog id="d1" service="web" name="cart" />;
  const history = createMemoryHistory({ initialEntries: ["/"] });
  const router = createRouter({ routeTree: createRootRoute({ component }), history });
  // biome-ignore lint/suspicious/noExplicitAny: a router of this test, not the page's.
  render(<RouterProvider router={router as any} />);
  return fetch;
}

it("says why there is no log, stops, and tries again when somebody wants it", async () => {
  const problem = { status: 503, detail: "node alpha is offline", remedy: "Wait for it." };
  const fetch = server(new Response(stream("error", problem)));
  await screen.findByText(/node alpha is offline Wait for it\./);
  expect(screen.queryByText(/written nothing yet/)).toBeNull();
  await new Promise((resolve) => setTimeout(resolve, 1500));
  expect(fetch).toHaveBeenCalledOnce();
  await userEvent.click(screen.getByRole("button", { name: "Try again" }));
  await screen.findByText("The log is empty.");
  expect(fetch).toHaveBeenCalledTimes(2);
});

it("keeps what was read when the log cannot be read any more", async () => {
  const gone = { title: "Not found", status: 404, detail: "there is no deployment d1" };
  server(new Response(line), Response.json(gone, { status: 404 }));
  await screen.findByText(/there is no deployment d1/);
  expect(screen.getByText("1 line")).toBeTruthy();
  expect(screen.queryByText("The log ends here.")).toBeNull();
});
