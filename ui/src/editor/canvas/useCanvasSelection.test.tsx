import { act, renderHook } from "@testing-library/react";
import { useState } from "react";
import { expect, it } from "vitest";
import { useCanvasSelection } from "./useCanvasSelection";

it("goes from a step to a line and back, though both are told before either is drawn", () => {
  const { result } = renderHook(() => {
    const [chosen, setChosen] = useState({ nodes: new Set(["a"]), edges: new Set<string>() });
    const [onChoose] = useState(
      () => (nodes: Set<string>, edges: Set<string>) => setChosen({ nodes, edges }),
    );
    return { chosen, ...useCanvasSelection(chosen.nodes, chosen.edges, onChoose) };
  });
  const select = (id: string, selected: boolean) => [{ type: "select" as const, id, selected }];
  act(() => {
    result.current.chooseEdges(select("line", true));
    result.current.chooseNodes(select("a", false));
  });
  expect(result.current.chosen).toEqual({ nodes: new Set(), edges: new Set(["line"]) });
  act(() => {
    result.current.chooseNodes(select("b", true));
    result.current.chooseEdges(select("line", false));
  });
  expect(result.current.chosen).toEqual({ nodes: new Set(["b"]), edges: new Set() });
});
