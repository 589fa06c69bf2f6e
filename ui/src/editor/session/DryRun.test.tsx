import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { type ReactNode, useState } from "react";
import { afterEach, expect, it, vi } from "vitest";
import type { Catalogue } from "../model/catalogue";
import type { Doc } from "../model/document";
import { DryRun } from "./DryRun";
import { dryTexts } from "./dryTexts";
import type { DryRuns } from "./useDryRun";

afterEach(cleanup);

const nothing: Catalogue = { services: new Map(), plugins: new Map(), secrets: [] };

function withClient(children: ReactNode) {
  return <QueryClientProvider client={new QueryClient()}>{children}</QueryClientProvider>;
}

it("gives the checks the input that the drawing declares", async () => {
  const mutate = vi.fn();
  const doc: Doc = {
    steps: [{ key: "a", script: { source: "x" } }],
    comments: [],
    input: [{ name: "rows", type: "integer", required: true }],
  };
  function Shown() {
    const [typed, setTyped] = useState<Record<string, string>>({});
    const runs = {
      environment: "qa",
      environments: { data: [{ name: "qa" }] },
      tags: new Map(),
      selectable: () => false,
      typed,
      type: (name: string, text: string) => setTyped({ ...typed, [name]: text }),
      check: { mutate },
      branch: {},
      pins: new Map(),
      scratchRun: { steps: new Map() },
    } as unknown as DryRuns;
    return (
      <DryRun project="shop" catalogue={nothing} base={1} doc={doc} runs={runs} onShow={() => {}} />
    );
  }
  render(withClient(<Shown />));
  await userEvent.type(screen.getByLabelText("rows"), "7");
  await userEvent.click(screen.getByRole("button", { name: dryTexts.run }));
  expect(mutate).toHaveBeenCalledWith({ doc, environment: "qa", input: { rows: 7 } });
});
