import { describe, expect, it } from "vitest";
import { compareOf, compareText, readPipelineSearch } from "./pipelineSearch";

describe("the address of a pipeline", () => {
  it("holds the step, the panel and what is compared", () => {
    const search = { step: "web", panel: "history", compare: "v2..draft" };
    expect(readPipelineSearch(search)).toEqual(search);
  });

  it("leaves out what means nothing", () => {
    const search = { step: "", panel: "attic", compare: "v2..v" };
    expect(readPipelineSearch(search)).toEqual({});
  });

  it("names two versions, or one and the draft", () => {
    for (const text of ["v1..v12", "v0..draft"])
      expect(compareText(compareOf(text) as never)).toBe(text);
    expect(compareOf("v1..v12")).toEqual({ from: 1, to: 12 });
    expect(compareOf("draft..v1")).toBeUndefined();
  });
});
