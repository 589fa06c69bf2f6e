import { cleanup, render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { useState } from "react";
import { afterEach, expect, it } from "vitest";
import { ApiError, type Problem } from "@/api/client";
import { Deadline, deadlineProblem, deadlineSeconds } from "./Deadline";
import { sortRefusal } from "./refusal";

afterEach(cleanup);

it("is minutes for people and seconds for the API", () => {
  expect(["", " ", "1", " 90 ", "43200"].map(deadlineSeconds)).toEqual([
    undefined,
    undefined,
    60,
    5400,
    2_592_000,
  ]);
  for (const wrong of ["0", "-5", "1.5", "an hour", "43201", "9999999"])
    expect(deadlineProblem(wrong)).toMatch(/whole minutes/);
  expect(deadlineProblem("")).toBeUndefined();
});

it("is a field that says what happens when it is missed", async () => {
  function One() {
    const [value, set] = useState("");
    return <Deadline value={value} error={deadlineProblem(value)} set={set} />;
  }
  render(<One />);
  const field = screen.getByLabelText(/^Ready within/);
  screen.getByText(/If it takes longer/);
  await userEvent.type(field, "soon");
  expect(field.getAttribute("aria-invalid")).toBe("true");
});

it("shows the server's word on it at the field", () => {
  const problem = { title: "Bad", detail: "too long", field: "deadline_seconds" } as Problem;
  const refusal = sortRefusal(new ApiError(400, problem), { steps: [], inputs: [] });
  expect(refusal).toMatchObject({ fields: { deadline: "too long" }, rest: [] });
});
