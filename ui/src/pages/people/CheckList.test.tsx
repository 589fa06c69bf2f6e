import { cleanup, render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { type FormEvent, useState } from "react";
import { afterEach, expect, it, vi } from "vitest";
import { CheckList } from "./CheckList";

afterEach(cleanup);

it("says what is refused of the chosen, even when there is nothing to choose any more", () => {
  const props = {
    label: "Members",
    chosen: ["ada"],
    set: () => {},
    error: "There is no user ada.",
  };
  const { rerender } = render(<CheckList {...props} all={["ada"]} />);
  screen.getByRole("group", { name: "Members", description: /no user ada/ });
  rerender(<CheckList {...props} all={[]} />);
  expect(screen.getByRole("alert").textContent).toBe("There is no user ada.");
});

const MANY = Array.from({ length: 30 }, (_, i) => `user-${i}`);

function Many() {
  const [chosen, set] = useState(["user-9", "gone"]);
  return <CheckList label="Members" all={MANY} chosen={chosen} set={set} />;
}

const names = () =>
  screen.getAllByRole("checkbox").map((box) => (box as HTMLInputElement).labels?.[0]?.textContent);

it("searches many, says how many are chosen, and shows those first that are", async () => {
  render(<Many />);
  expect(names().slice(0, 3)).toEqual(["user-9", "gone", "user-0"]);
  await userEvent.type(screen.getByRole("searchbox", { name: "Find in Members" }), "R-2");
  expect(names()).toHaveLength(11);
  await userEvent.click(screen.getByLabelText("user-21"));
  expect(screen.getByRole("status").textContent).toBe("3 of 31 chosen");
  await userEvent.clear(screen.getByRole("searchbox"));
  expect(names().slice(0, 3)).toEqual(["user-9", "gone", "user-0"]);
});

it("saves nothing when Enter ends a search", async () => {
  const save = vi.fn((event: FormEvent) => event.preventDefault());
  render(
    <form onSubmit={save}>
      <Many />
      <button type="submit">Save</button>
    </form>,
  );
  await userEvent.type(screen.getByRole("searchbox"), "R-2{Enter}");
  expect(save).not.toHaveBeenCalled();
});
