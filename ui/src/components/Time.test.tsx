import { cleanup, render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, expect, it } from "vitest";
import { Time } from "./Time";

afterEach(cleanup);

const at = "2026-11-21T12:00:00Z";

it("tells the exact moment where it stands alone, to a finger and the keyboard too", async () => {
  render(<Time at={at} alone />);
  expect(screen.queryByRole("tooltip")).toBeNull();
  await userEvent.click(screen.getByRole("button"));
  const tip = screen.getByRole("tooltip");
  expect(tip.textContent).toMatch(/^Nov 21, 2026/);
  const { activeElement } = document;
  expect(activeElement?.getAttribute("aria-describedby")).toBe(tip.id);
});

it("is no stop of the keyboard in a row", async () => {
  render(<Time at={at} />);
  await userEvent.tab();
  expect(document.activeElement).toBe(document.body);
});
