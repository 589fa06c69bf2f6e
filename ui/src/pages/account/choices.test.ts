import { expect, it } from "vitest";
import { addRow, bodyOf, fieldOf, findProblems, rowsOf } from "./choices";

const stored = [
  { email: "ada@example.org", events: ["deployment.ready" as const], project: "shop" },
];

it("sends back what was read, without empty words", () => {
  expect(bodyOf(rowsOf(stored))).toEqual({
    choices: [{ ...stored[0], environment: undefined, mine: undefined }],
  });
});

it("begins a choice with the address that is known, and a number of its own", () => {
  const rows = addRow(rowsOf(stored));
  expect(rows[1]).toMatchObject({ id: 1, email: "ada@example.org", mine: true });
  expect(addRow([])[0]).toMatchObject({ id: 0, email: "" });
  const less = rows.slice(1);
  expect(new Set(addRow(less).map((row) => row.id)).size).toBe(2);
});

it("says what is wrong where it is, and finds the place of a refusal", () => {
  const rows = addRow(rowsOf(stored)).map((row) => ({ ...row, email: "ada", events: [] }));
  expect(Object.keys(findProblems(rows))).toEqual(["0.email", "0.events", "1.email", "1.events"]);
  expect(findProblems(rowsOf(stored))).toEqual({});
  expect(fieldOf("choices.1.email")).toBe("1.email");
  expect(fieldOf("choices.0.events.3")).toBe("0.events");
  expect(fieldOf("choices")).toBeUndefined();
});
