import { cleanup, fireEvent, render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { type ComponentProps, createRef } from "react";
import { afterEach, expect, it, vi } from "vitest";
import type { Catalogue } from "../model/catalogue";
import { newStep } from "./newStep";
import { Palette } from "./Palette";

afterEach(cleanup);

const catalogue: Catalogue = { services: new Map(), plugins: new Map(), secrets: [] };

function renderPalette(more: Partial<ComponentProps<typeof Palette>>) {
  const nothing = () => {};
  const field = createRef<HTMLInputElement>();
  const props = { catalogue, field, open: true, onOpen: nothing, onAdd: nothing, onPick: nothing };
  render(<Palette {...props} {...more} />);
}

it("adds once, however long the key is held, and moves along the steps by arrow keys", () => {
  const onAdd = vi.fn();
  renderPalette({ onAdd });
  const field = screen.getByRole("textbox");
  field.focus();
  fireEvent.keyDown(field, { key: "Enter" });
  fireEvent.keyDown(field, { key: "Enter", repeat: true });
  expect(onAdd).toHaveBeenCalledTimes(1);
  const focused = () => document.activeElement?.textContent;
  fireEvent.keyDown(field, { key: "ArrowDown" });
  expect(focused()).toBe("Job");
  fireEvent.keyDown(document.activeElement as Element, { key: "ArrowDown" });
  expect(focused()).toBe("Script");
  for (let i = 0; i < 3; i++)
    fireEvent.keyDown(document.activeElement as Element, { key: "ArrowUp" });
  expect(document.activeElement).toBe(field);
});

it("folds to a rail, from which a step is still added", async () => {
  const [onOpen, onPick] = [vi.fn(), vi.fn()];
  renderPalette({ open: false, onOpen, onPick });
  await userEvent.click(screen.getByRole("button", { name: /^Add a step/ }));
  await userEvent.click(screen.getByRole("button", { name: "Show the steps to add" }));
  expect(onPick).toHaveBeenCalledTimes(1);
  expect(onOpen).toHaveBeenCalledWith(true);
});

it("adds a job by keyboard, whose service is still to be chosen", async () => {
  const onAdd = vi.fn();
  renderPalette({ onAdd });
  await userEvent.type(screen.getByRole("textbox"), "job{Enter}");
  expect(onAdd.mock.calls).toEqual([["job"]]);
  const position = { x: 1, y: 2 };
  expect(newStep("job", position)).toEqual({
    key: "job",
    position,
    job: { name: "", resources: { cpu: 0.5, memory_mib: 256 } },
  });
});

it("begins a step as its service says", () => {
  const step = { name: "db", ports: [{ name: "sql", port: 5432 }], ready: { tcp: { port: 5432 } } };
  const service = { name: "db", step } as never;
  const known: Catalogue = { ...catalogue, services: new Map([["db", service]]) };
  const position = { x: 1, y: 2 };
  expect(newStep("service:db", position, known)).toEqual({
    key: "db",
    position,
    service: { ...step, resources: { cpu: 0.5, memory_mib: 256 } },
  });
});
