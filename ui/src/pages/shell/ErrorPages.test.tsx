import { render, screen } from "@testing-library/react";
import { expect, it } from "vitest";
import { ErrorPage } from "./ErrorPages";

function said(error: Error): string {
  const { unmount } = render(<ErrorPage error={error} reset={() => {}} />);
  const text = screen.getByRole("alert").textContent ?? "";
  unmount();
  return text;
}

it("blames the server only for what did not arrive", () => {
  const broken = new TypeError("Cannot read properties of undefined (reading 'map')");
  expect(said(broken)).toContain("a fault of NullOps");
  expect(said(broken)).not.toContain("server");
  for (const text of [
    "Failed to fetch dynamically imported module: /assets/Sources.js",
    "NetworkError when attempting to fetch resource.",
    "Load failed",
  ])
    expect(said(new TypeError(text))).toContain("The server did not answer.");
  const refused = Object.assign(new Error("500"), { problem: { detail: "The database is away." } });
  expect(said(refused)).toContain("The database is away.");
});
