import { describe, expect, it } from "vitest";

type Story = [name: string, tell: unknown];

// The stories are plain JavaScript, which is not checked here: hence the type of the address.
const part = await import("../e2e/part.mjs" as string);
const told = await import("../e2e/stories.mjs" as string);
const every: Story[] = told.every;
const rotated: Story[] = told.rotated;

describe("browser stories in rotation", () => {
  it("belong to one of seven parts each", () => {
    const runs = ["1", "2", "3", "4", "5", "6", "7"].map((value) =>
      rotated.filter(([name]) => part.runsToday(name, value)).map(([name]) => name),
    );
    expect(runs.flat().toSorted()).toEqual(rotated.map(([name]) => name).toSorted());
    for (const run of runs) expect(run.length).toBeGreaterThan(rotated.length / 20);
  });

  it("all run without a part, and a part that does not exist is refused", () => {
    for (const [name] of rotated) {
      expect(part.runsToday(name, "")).toBe(true);
      expect(part.runsToday(name, "all")).toBe(true);
    }
    for (const wrong of ["0", "8", "two"])
      expect(() => part.runsToday("a story", wrong)).toThrow(wrong);
  });

  it("are no stories of every run, and no name is there twice", () => {
    const names = [...every, ...rotated, ...(told.slow as Story[])].map(([name]) => name);
    expect(names.filter((name, at) => names.indexOf(name) !== at)).toEqual([]);
  });

  // internal/testpart has the same names and parts: the two agree.
  it("are in the parts that the tests in Go say", () => {
    for (const [name, wanted] of Object.entries({
      "TestEndToEnd/EngineDies": 5,
      "TestEndToEnd/Replicas": 1,
      "TestEndToEnd/Crowd": 7,
      "journal.append=kill@1": 3,
      "a story about “quotes”": 4,
    }))
      expect(part.partOf(name), name).toBe(wanted);
  });
});
