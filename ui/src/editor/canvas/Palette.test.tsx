import { cleanup, render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { createRef } from "react";
import { afterEach, expect, it, vi } from "vitest";
import type { Catalogue } from "../model/catalogue";
import { newStep } from "./newStep";
import { Palette } from "./Palette";

afterEach(cleanup);

const catalogue: Catalogue = { services: new Map(), plugins: new Map(), secrets: [] };

it("adds a job by keyboard, whose service is still to be chosen", async () => {
  const onAdd = vi.fn();
  render(<Palette catalogue={catalogue} field={createRef<HTMLInputElement>()} onAdd={onAdd} />);
  await userEvent.type(screen.getByRole("textbox"), "job{Enter}");
  expect(onAdd).toHaveBeenCalledWith("job");
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
