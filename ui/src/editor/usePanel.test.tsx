import { act, renderHook } from "@testing-library/react";
import { useState } from "react";
import { expect, it } from "vitest";
import type { PipelineSearch } from "./pipelineSearch";
import { usePanel } from "./usePanel";

it("has the panel with what it compares again when the history is closed", () => {
  const first: Pick<PipelineSearch, "panel" | "compare"> = {
    panel: "changes",
    compare: "v3..draft",
  };
  const { result } = renderHook(() => {
    const [address, onAddress] = useState(first);
    return { address, panels: usePanel({ ...address, onAddress }) };
  });
  act(() => result.current.panels.openHistory({ from: 1, to: 2 }));
  expect(result.current.address).toEqual({ panel: "history", compare: "v1..v2" });
  expect(result.current.panels.compared).toBe("v3..draft");
  act(() => result.current.panels.close());
  expect(result.current.address).toEqual(first);
});
