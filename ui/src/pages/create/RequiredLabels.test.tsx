import { cleanup, render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { useState } from "react";
import { afterEach, expect, it } from "vitest";
import { ApiError, type Problem } from "@/api/client";
import { RequiredLabels, requiredLabels } from "./RequiredLabels";
import { countRefusals, sortRefusal } from "./refusal";

afterEach(cleanup);

it("is words for people and a list for the API", () => {
  expect(["", "  ", "gpu", "gpu  zone=fra", "gpu, zone=fra,"].map(requiredLabels)).toEqual([
    undefined,
    undefined,
    ["gpu"],
    ["gpu", "zone=fra"],
    ["gpu", "zone=fra"],
  ]);
});

it("is a field that keeps what is typed, and shows the server's word on it", async () => {
  const problem = { title: "Bad", detail: "no label", field: "required_labels[1]" } as Problem;
  const refusal = sortRefusal(new ApiError(400, problem), { steps: [], inputs: [] });
  expect(refusal).toMatchObject({ fields: { labels: "no label" }, rest: [] });
  expect(countRefusals(refusal)).toBe(1);
  function One() {
    const [value, set] = useState("");
    return <RequiredLabels value={value} error={refusal.fields.labels} set={set} />;
  }
  render(<One />);
  const field = screen.getByLabelText<HTMLInputElement>(/^Labels its node must have/);
  await userEvent.type(field, "gpu, ");
  expect(field.value).toBe("gpu, ");
  expect(field.getAttribute("aria-invalid")).toBe("true");
  screen.getByText("no label");
});
