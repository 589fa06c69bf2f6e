import { cleanup, render, screen } from "@testing-library/react";
import { afterEach, expect, it } from "vitest";
import { DocsLink } from "./DocsLink";

afterEach(cleanup);

it("leads to the documentation of this installation, beside the page", () => {
  render(<DocsLink />);
  const link = screen.getByRole("link", { name: "Documentation" });
  expect(link.getAttribute("href")).toBe("/docs/");
  expect(link.getAttribute("target")).toBe("_blank");
});
