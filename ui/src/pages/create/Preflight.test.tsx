import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, render, screen } from "@testing-library/react";
import { afterEach, expect, it } from "vitest";
import { Preflight } from "./Preflight";

afterEach(cleanup);

it("says why a node has no room once, in the table", () => {
  const reason = "It lacks 4.6 GB of memory.";
  const said = { id: "capacity", state: "failed", message: `No node has room. demo: ${reason}` };
  const query = {
    data: { checks: [said], nodes: [{ node: "demo", fits: false, reason }] },
    dataUpdatedAt: 0,
    refetch: () => undefined,
  };
  const checks = { query, complete: true, fresh: true, failed: [said] };
  const more = { open: [said], placed: false, waits: false, setWait: () => undefined };
  render(
    <QueryClientProvider client={new QueryClient()}>
      <Preflight
        project="shop"
        checks={checks as never}
        {...(more as never as { open: [] } & typeof more)}
      />
    </QueryClientProvider>,
  );
  screen.getByText("No node has room.");
  expect(screen.getAllByText(reason, { exact: false }).map((one) => one.tagName)).toEqual(["TD"]);
});
