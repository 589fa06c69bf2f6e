import { expect, it } from "vitest";
import { actionWords, actorWords, changesOf } from "./auditWords";

it.each([
  ["put service", "Saved service"],
  ["delete certificate authority", "Deleted certificate authority"],
  ["sign in", "Signed in"],
  ["close terminal", "Closed terminal"],
  ["comment on deployment", "Commented on deployment"],
  ["frobnicate node", "Frobnicate node"],
])("says %s as %s", (action, words) => expect(actionWords(action)).toBe(words));

it("names what did something by itself", () => {
  expect(actorWords("system:cleanup")).toBe("system: cleanup");
  expect(actorWords("mira")).toBe("mira");
});

it("reads what was and what is", () => {
  const detail = 'domain: "a → b" → "c"\ncleanup after hours: 48 → 24\ngrants: null → ["x","y"]';
  expect(changesOf(detail)).toEqual({
    changes: [
      { field: "domain", before: "a → b", after: "c" },
      { field: "cleanup after hours", before: "48", after: "24" },
      { field: "grants", before: "", after: "x, y" },
    ],
  });
  expect(changesOf("restricted: false → true\nand 3 more")?.more).toBe("3");
  expect(changesOf("members: null → []\ngpus: 0 → 1")?.changes).toHaveLength(1);
});

it.each([[undefined], ["not_found"], ["API_TOKEN, DB: x → y"], ["input.size"]])(
  "takes %s for no change",
  (detail) => expect(changesOf(detail)).toBeUndefined(),
);
