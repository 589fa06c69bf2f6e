import { cleanup, render, screen } from "@testing-library/react";
import { afterEach, expect, it } from "vitest";
import { Picks } from "./Picks";

afterEach(cleanup);

it("says what is refused of the chosen, even when there is nothing to choose any more", () => {
  const props = {
    label: "Members",
    chosen: ["ada"],
    set: () => {},
    error: "There is no user ada.",
  };
  const { rerender } = render(<Picks {...props} all={["ada"]} />);
  screen.getByRole("group", { name: "Members", description: /no user ada/ });
  rerender(<Picks {...props} all={[]} />);
  expect(screen.getByRole("alert").textContent).toBe("There is no user ada.");
});
