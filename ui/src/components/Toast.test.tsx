import { act, cleanup, render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, expect, it, vi } from "vitest";
import { Field } from "./Field";
import { Toasts, useSolved, useToast } from "./Toast";

afterEach(cleanup);

function Act({ undo }: { undo: () => void }) {
  const say = useToast();
  return (
    <button type="button" onClick={() => say("done", "It is gone.", { label: "Undo", run: undo })}>
      Delete
    </button>
  );
}

it("a result can be taken back where it is said, once", async () => {
  const undo = vi.fn();
  render(
    <Toasts>
      <Act undo={undo} />
    </Toasts>,
  );
  await userEvent.click(screen.getByRole("button", { name: "Delete" }));
  await userEvent.click(screen.getByRole("button", { name: "Undo" }));
  expect(undo).toHaveBeenCalledOnce();
  expect(screen.queryByText("It is gone.")).toBeNull();
});

it("a failure goes once something has worked, but not one of the same act", () => {
  vi.useFakeTimers();
  let say: ReturnType<typeof useToast> = () => {};
  function Sayer() {
    say = useToast();
    return null;
  }
  render(
    <Toasts>
      <Sayer />
    </Toasts>,
  );
  act(() => say("failed", "This would be a circle."));
  vi.advanceTimersByTime(2000);
  act(() => {
    say("failed", "b was refused.");
    say("done", "a is published.");
  });
  expect(screen.queryByText("This would be a circle.")).toBeNull();
  expect(screen.getByText("b was refused.")).toBeTruthy();
  vi.useRealTimers();
});

it("a failure goes with what it was about, however that was done", () => {
  vi.useFakeTimers();
  let say: ReturnType<typeof useToast> = () => {};
  let solved: ReturnType<typeof useSolved> = () => {};
  function Sayer() {
    say = useToast();
    solved = useSolved();
    return null;
  }
  render(
    <Toasts>
      <Sayer />
    </Toasts>,
  );
  act(() => say("failed", "postgres.host is text."));
  vi.advanceTimersByTime(2000);
  act(() => solved(10_000));
  expect(screen.getByText("postgres.host is text.")).toBeTruthy();
  act(() => solved());
  expect(screen.queryByText("postgres.host is text.")).toBeNull();
  vi.useRealTimers();
});

it("a locked field can be read and copied, not changed, and says who can", async () => {
  render(<Field label="Name" defaultValue="cart" locked="Mira Okafor can change it." />);
  const field = screen.getByLabelText<HTMLInputElement>("Name");
  await userEvent.type(field, "x");
  expect(field.value).toBe("cart");
  expect(field.disabled).toBe(false);
  const said = document.getElementById(field.getAttribute("aria-describedby") ?? "");
  expect(said?.textContent).toBe("Mira Okafor can change it.");
});
