import { cleanup, render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { useState } from "react";
import { afterEach, expect, it } from "vitest";
import type { Catalogue } from "../model/catalogue";
import { type Doc, docOf, pipelineOf, sameDoc } from "../model/document";
import { moveItems } from "../model/edit";
import { merge } from "../model/merge";
import { referenceOptions } from "../model/referenceOptions";
import InputSettings from "./InputSettings";
import { inputTexts as t } from "./inputTexts";

const user = userEvent.setup({ delay: null });
afterEach(cleanup);

function Edited({ first }: { first: Doc }) {
  const [doc, setDoc] = useState(first);
  return (
    <>
      <InputSettings
        doc={doc}
        problems={[{ field: "input[0].name", code: "name", message: "no such name" }]}
        onChange={(path, value) => setDoc((now) => ({ ...now, [path]: value }))}
      />
      <output>{JSON.stringify(pipelineOf(doc))}</output>
    </>
  );
}
const held = () => JSON.parse(screen.getByRole("status").textContent || "null").input;

it("declares fields with the limits of their type", async () => {
  render(<Edited first={docOf()} />);
  expect(held()).toBeUndefined();
  await user.click(screen.getByRole("button", { name: t.add }));
  expect(screen.getByText("no such name")).toBeTruthy();
  const name = screen.getByLabelText(t.name);
  await user.clear(name);
  await user.type(name, "rows");
  await user.type(screen.getByLabelText(t.pattern), "x");
  await user.selectOptions(screen.getByLabelText(t.type), "integer");
  await user.type(screen.getByLabelText(t.max), "90");
  screen.getByText(t.max);
  await user.type(screen.getByLabelText(t.default), "7");
  await user.click(screen.getByLabelText(t.required));
  expect(held()).toEqual([{ name: "rows", type: "integer", max: 90, default: 7, required: true }]);
  await user.selectOptions(screen.getByLabelText(t.type), "choice");
  await user.type(screen.getByLabelText(t.choices), "a\nb");
  await user.selectOptions(screen.getByLabelText(t.default), "b");
  expect(held()).toEqual([
    { name: "rows", type: "choice", choices: ["a", "b"], default: "b", required: true },
  ]);
  await user.click(screen.getByRole("button", { name: /1/ }));
  expect(held()).toBeUndefined();
});

const field = (name: string, label?: string) => ({ name, type: "string" as const, label });
const step = { key: "a", script: { source: "x" }, position: { x: 1, y: 1 } };

it("keeps input through edits, drafts and merges", () => {
  const drawn: Doc = { steps: [step], comments: [], input: [field("one")] };
  expect(docOf(pipelineOf(drawn)).input).toEqual(drawn.input);
  expect(moveItems(drawn, new Map([["a", { x: 2, y: 2 }]])).input).toEqual(drawn.input);
  expect(sameDoc(drawn, { ...drawn, input: undefined })).toBe(false);
  const mine = { ...drawn, input: [field("one", "mine"), field("two")] };
  const theirs = { ...drawn, input: [field("one"), field("three")] };
  expect(merge(drawn, mine, theirs, {}).input).toEqual([
    field("one", "mine"),
    field("two"),
    field("three"),
  ]);
  const removed = { ...drawn, comments: [{ text: "x" }], input: undefined };
  expect(merge(drawn, removed, theirs, {}).input).toEqual([field("three")]);
});

it("offers fields as references", () => {
  const drawn: Doc = { steps: [step], comments: [], input: [field("one", "First")] };
  const catalogue: Catalogue = { services: new Map(), plugins: new Map(), secrets: [] };
  const offered = referenceOptions(drawn, catalogue, step, "any", "script.parameters.x");
  expect(offered.find((one) => one.group === "input")).toMatchObject({
    text: "${{ input.one }}",
    label: "First",
  });
});
