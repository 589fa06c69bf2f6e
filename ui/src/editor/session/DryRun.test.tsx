import { cleanup, render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { useState } from "react";
import { afterEach, expect, it, vi } from "vitest";
import { editorTexts } from "@/editor/editorTexts";
import type { Doc } from "../model/document";
import { DryRun } from "./DryRun";
import type { DryRuns } from "./useDryRun";

afterEach(cleanup);

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
    } as unknown as DryRuns;
    return <DryRun base={1} doc={doc} runs={runs} onShow={() => {}} />;
  }
  render(<Shown />);
  await userEvent.type(screen.getByLabelText("rows"), "7");
  await userEvent.click(screen.getByRole("button", { name: editorTexts.dry.run }));
  expect(mutate).toHaveBeenCalledWith({ doc, environment: "qa", input: { rows: 7 } });
});
