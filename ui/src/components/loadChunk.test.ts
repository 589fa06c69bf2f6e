import { describe, expect, it } from "vitest";
import { loadChunk } from "./loadChunk";

/** A part that fails a number of times first. */
const failing = (times: number) => {
  let tries = 0;
  return {
    part: async () => {
      if (tries++ < times) throw new TypeError("network changed");
      return "part";
    },
    tries: () => tries,
  };
};

describe("a part of the interface", () => {
  it("is asked for again when the network changed", async () => {
    const { part, tries } = failing(2);
    expect(await loadChunk(part, 0)).toBe("part");
    expect(tries()).toBe(3);
  });

  it("fails after the third time", async () => {
    const { part, tries } = failing(9);
    await expect(loadChunk(part, 0)).rejects.toThrow("network changed");
    expect(tries()).toBe(3);
  });
});
