import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, render, screen } from "@testing-library/react";
import { afterEach, expect, it } from "vitest";
import type { Deployment } from "@/api/client";
import { RemoveQuestion } from "./RemoveQuestion";

afterEach(cleanup);

const services = [{ step: "web", url: "http://web" }, { step: "db" }];
const make = (name: string, status: string) =>
  ({ id: name, name, status, services, steps_total: 4, steps_done: 1 }) as unknown as Deployment;

function ask(...on: Deployment[]) {
  const cache = new QueryClient({ defaultOptions: { queries: { enabled: false } } });
  render(
    <QueryClientProvider client={cache}>
      <RemoveQuestion on={on} busy={false} keep={() => {}} remove={() => {}} />
    </QueryClientProvider>,
  );
  return screen.getByRole("dialog").textContent ?? "";
}

it("of what failed nothing stops and nothing is erased", () => {
  const said = ask(make("cart", "failed"));
  expect(said).toMatch(/nothing runs\. Its name becomes free again/);
  expect(said).not.toMatch(/stop now|erased/);
});

it("counts what stops, what failed and what is still being made each by itself", () => {
  const said = ask(
    make("a", "ready"),
    make("b", "failed"),
    make("c", "failed"),
    make("d", "queued"),
  );
  expect(said).toMatch(/2 services stop now, and every volume/);
  expect(said).toMatch(/1 URL says/);
  expect(said).toMatch(/2 failed deployments: everything was undone when they failed/);
  expect(said).toMatch(/1 deployment still being made: it stops at once/);
});

it("says of one that waits that nothing of it is left, and of one being made what is undone", () => {
  expect(ask(make("a", "queued"))).toMatch(/it only leaves the queue/);
  cleanup();
  expect(ask(make("a", "applying"))).toMatch(/Stops at step 2 of 4/);
});
