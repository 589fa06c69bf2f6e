import { plural } from "@/plural";

// What is said where two versions of a drawing are compared or put together; loaded with it.

export const mergeTexts = {
  outdatedTitle: (version: number) => `v${version} was published while you drew`,
  windowTitle: "This draft was saved from another window",
  count: (mine: number, conflicts: number) =>
    [
      mine > 0 || conflicts === 0 ? `${plural(mine, "change")} of yours can be kept` : "",
      conflicts > 0
        ? `${mine > 0 ? conflicts : `${plural(conflicts, "change")} of yours`} ${conflicts === 1 ? "conflicts" : "conflict"} with theirs`
        : "none conflicts with theirs",
    ]
      .filter(Boolean)
      .join(conflicts > 0 ? ", " : "; ")
      .concat("."),
  field: "Field",
  base: "Before",
  mine: "Yours",
  theirs: "Theirs",
  useMine: (what: string) => `Keep yours for ${what}`,
  useTheirs: (what: string) => `Take theirs for ${what}`,
  absent: "not there",
  whole: "the whole step",
  onlyMine: "Changed by you alone",
  onlyTheirs: "Changed by them alone",
  apply: "Put both together",
  later: "Not now",
  undecided: (count: number) =>
    `${count === 1 ? "One field still waits" : `${count} fields still wait`} for your choice: yours, or theirs.`,
};

export const valueTexts = {
  letters: (count: number) => `Show all ${count} letters`,
  lines: (count: number) => `Show all ${count} lines`,
  signs: { "+": "added", "−": "removed" },
};
