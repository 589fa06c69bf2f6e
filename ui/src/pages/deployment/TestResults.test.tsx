import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, configure, render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, expect, it, vi } from "vitest";
import { client, type Schemas } from "@/api/client";
import { TestResults } from "./TestResults";

// What a machine under load needs; nothing here is about time.
configure({ asyncUtilTimeout: 30_000 });

afterEach(() => {
  cleanup();
  vi.restoreAllMocks();
});

const none = { tests: 120, failed: 0, skipped: 2, seconds: 41, marked: false };

function show(tests: Partial<Schemas["TestSummary"]>) {
  return render(
    <QueryClientProvider
      client={new QueryClient({ defaultOptions: { queries: { retry: false } } })}
    >
      <TestResults id="d1" run={2} step="e2e" tests={{ ...none, ...tests }} />
    </QueryClientProvider>,
  );
}

type Answer = Awaited<ReturnType<typeof client.GET>>;

function answer(body: Schemas["TestReport"]) {
  const told = { data: body, response: new Response(null, { status: 200 }) };
  return vi.spyOn(client, "GET").mockResolvedValue(told as Answer);
}

const lookOf = () => screen.getByRole("region").querySelector("[data-st]")?.getAttribute("data-st");

it("tests that passed are numbers and nothing else", () => {
  show({});
  screen.getByText("118 tests passed, 2 skipped, 41 s");
  expect(screen.queryByRole("button")).toBeNull();
  expect(lookOf()).toBe("done");
});

it("what failed is read when somebody asks for it", async () => {
  const asked = answer({
    summary: { ...none, failed: 3 },
    failures: [
      { suite: "cart", name: "pays by card", message: "expected 10, got <b>11.9</b>" },
      { suite: "", name: "", message: "" },
    ],
    truncated: true,
  });
  show({ failed: 3 });
  expect(asked).not.toHaveBeenCalled();
  expect(lookOf()).toBe("failed");
  await userEvent.click(screen.getByRole("button", { name: "Show what failed" }));
  await screen.findByText("pays by card");
  screen.getByText("expected 10, got <b>11.9</b>");
  screen.getByText("A test without a name");
  screen.getByText(/^1 more test failed\./);
  await userEvent.click(screen.getByRole("button", { name: "Hide what failed" }));
  expect(screen.queryByText("pays by card")).toBeNull();
  expect(asked).toHaveBeenCalledTimes(1);
});

it("failed tests that only mark the run are a warning, which says so", () => {
  show({ failed: 1, marked: true });
  expect(lookOf()).toBe("warn");
  screen.getByText("The pipeline lets failed tests only mark the run.");
});

it("results that are missing say why, and what to do", () => {
  show({ tests: 0, skipped: 0, seconds: 0, problem: "no file matches /results/*.xml" });
  screen.getByText("No test results");
  screen.getByText("no file matches /results/*.xml");
});
