import { cleanup, fireEvent, render, screen } from "@testing-library/react";
import { useRef } from "react";
import { afterEach, expect, it } from "vitest";
import type { Doc } from "../model/document";
import { setField } from "../model/edit";
import { begin, edit, type History, undo } from "./history";
import { useUndoGrouping } from "./useUndoGrouping";

afterEach(cleanup);

const first: Doc = {
  steps: [{ key: "a", service: { name: "a", resources: {}, env: { X: "" } } }],
  comments: [],
};
let history: History<Doc>;

/** A variable as the inspector shows it: a field, and a button that removes it. */
function Variable() {
  const stroke = useUndoGrouping();
  const at = useRef("service.env.X");
  const change = (value?: string) => {
    const next = setField(history.now, "a", at.current, value);
    history = edit(history, next, stroke.typed(at.current));
  };
  return (
    <>
      <input aria-label="X" onChange={(event) => change(event.target.value)} />
      <button type="button" onClick={() => change(undefined)}>
        Remove
      </button>
    </>
  );
}

const value = () => history.now.steps[0]?.service?.env?.X;

it("gives a removed variable its value back, and takes what was typed at one time as one edit", () => {
  history = begin(first);
  render(<Variable />);
  const field = screen.getByRole("textbox");
  field.focus();
  fireEvent.change(field, { target: { value: "1" } });
  fireEvent.change(field, { target: { value: "12" } });
  screen.getByRole("button").focus();
  fireEvent.click(screen.getByRole("button"));
  expect(value()).toBeUndefined();
  history = undo(history);
  expect(value()).toBe("12");
  history = undo(history);
  expect(value()).toBe("");
});

it("takes what is typed after the field was left as another edit", () => {
  history = begin(first);
  render(<Variable />);
  const field = screen.getByRole("textbox");
  field.focus();
  fireEvent.change(field, { target: { value: "1" } });
  field.blur();
  field.focus();
  fireEvent.change(field, { target: { value: "2" } });
  history = undo(history);
  expect(value()).toBe("1");
});

it("takes each drag as an edit of its own", () => {
  let moved = "";
  function Node() {
    const stroke = useUndoGrouping();
    return (
      <button type="button" onClick={() => (moved = stroke.moved("a"))}>
        a
      </button>
    );
  }
  render(<Node />);
  const node = screen.getByRole("button");
  const drag = () => {
    fireEvent.pointerDown(node);
    fireEvent.click(node);
    return moved;
  };
  expect(drag()).not.toBe(drag());
});
