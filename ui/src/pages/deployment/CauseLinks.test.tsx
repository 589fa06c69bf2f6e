import { cleanup, render, screen } from "@testing-library/react";
import type { ReactNode } from "react";
import { afterEach, expect, it, vi } from "vitest";
import type { Deployment, Step } from "@/api/client";
import { CauseLinks } from "./CauseLinks";

vi.mock("@tanstack/react-router", async (original) => ({
  ...(await original<typeof import("@tanstack/react-router")>()),
  useSearch: () => ({}),
  Link: ({ children, search }: { children: ReactNode; search: object }) => (
    <a href={`/?${JSON.stringify(search)}`}>{children}</a>
  ),
}));
afterEach(cleanup);

const deployment = { run: 3, failure: { code: "x", message: "y", step: "web" } } as Deployment;
const step = (lines: number) => [{ key: "web", lines }] as Step[];
const names = () => screen.getAllByRole("link").map((link) => link.textContent);

it("leads to the line, else to the log, and to nothing where nothing was written", () => {
  render(<CauseLinks deployment={deployment} steps={step(9)} line={1_048_577} />);
  expect(screen.getByRole("link", { name: "Open the log at this line" }).getAttribute("href")).toBe(
    '/?{"run":3,"step":"web","line":1048577}',
  );
  cleanup();
  render(<CauseLinks deployment={deployment} steps={step(9)} />);
  expect(names()).toEqual(["Open the log of web", "Compare with the last good run"]);
  cleanup();
  render(<CauseLinks deployment={deployment} steps={step(0)} />);
  expect(names()).toEqual(["Compare with the last good run"]);
});
