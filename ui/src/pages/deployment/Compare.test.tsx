import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, render, screen, within } from "@testing-library/react";
import type { ReactNode } from "react";
import { afterEach, expect, it, vi } from "vitest";
import { client, type Deployment, type Schemas } from "@/api/client";
import Compare from "./Compare";

vi.mock("@tanstack/react-router", async (original) => ({
  ...(await original<typeof import("@tanstack/react-router")>()),
  Link: ({ children }: { children: ReactNode }) => <a href="/">{children}</a>,
}));
afterEach(() => {
  cleanup();
  vi.restoreAllMocks();
});

const side = (
  name: string,
  number: number,
  result: "ready" | "failed",
): Schemas["ComparedRun"] => ({
  deployment: { id: name, name },
  environment: "qa",
  number,
  pipeline_version: number,
  status: result,
  result,
  created_at: "2026-11-21T12:00:00Z",
  started_by: "ada",
});
const version = (tag: string) => ({ tag, digest: tag }) as Schemas["ServiceVersion"];
const comparison: Schemas["RunComparison"] = {
  run: side("cart", 2, "failed"),
  good: side("checkout", 1, "ready"),
  versions: [
    { step: "web", same: false, good: version("1.0"), run: version("1.1") },
    { step: "db", same: true, good: version("17"), run: version("17") },
  ],
  steps: [
    {
      step: "web",
      kind: "service",
      title: "web",
      good: { status: "done", result: "done", seconds: 3 },
      run: { status: "undone", result: "failed", seconds: 8 },
    },
  ],
  fields: [
    { path: "steps.web.service.env.DSN", good: "${{ secrets.A }}", run: "${{ secrets.B }}" },
  ],
};

function draw(answer: Schemas["RunComparison"]) {
  vi.spyOn(client, "GET").mockResolvedValue({ data: answer, response: new Response() } as never);
  const deployment = { id: "d", revision: 1 } as Deployment;
  return render(
    <QueryClientProvider client={new QueryClient()}>
      <Compare deployment={deployment} number={2} />
    </QueryClientProvider>,
  );
}

it("shows in one view what is different, and how long the steps took", async () => {
  draw(comparison);
  const rows = async (name: string) => {
    const section = await screen.findByRole("region", { name });
    return within(section)
      .getAllByRole("row")
      .slice(1)
      .map((row) => [...row.children].map((cell) => cell.textContent?.trim()));
  };
  expect(await rows("Versions")).toEqual([["web", "1.0", "1.1"]]);
  expect(screen.getByText("1 version unchanged.")).toBeTruthy();
  expect(await rows("Pipeline")).toEqual([
    ["Version of the pipeline", "v1", "v2"],
    ["web variable DSN", "${{ secrets.A }}", "${{ secrets.B }}"],
  ]);
  const [step] = await rows("Steps and how long they took");
  expect(step?.[3]).toBe("5.0 s longer");
  expect(step?.[2]).toContain("Failed");
});

it("says so when nothing is different, or there is nothing to compare with", async () => {
  const same = { ...comparison, versions: [], fields: [] };
  draw({ ...same, run: { ...same.run, pipeline_version: 1 } });
  expect(await screen.findByText(/What made it fail is outside of them/)).toBeTruthy();
  cleanup();
  draw({ ...comparison, good: undefined });
  expect(await screen.findByText("There is no good run to compare with")).toBeTruthy();
});
