import { expect, it } from "vitest";
import { copySteps, parseClip, pasteSteps } from "./clipboard";
import { type Doc, emptyDoc, type Step, stepOf } from "./document";
import { addComment, addStep } from "./edit";

const BY = { x: 40, y: 40 };
const web = (key: string, more: Partial<Step> = {}): Step => ({
  key,
  service: { name: "web" },
  ...more,
});
const clip = (...steps: object[]) => JSON.stringify({ nullops: "pipeline-steps", steps });

function pasted(doc: Doc, text: string, sight?: Parameters<typeof pasteSteps>[3]) {
  const done = pasteSteps(doc, text, BY, sight);
  if (!done || "wrong" in done) throw new Error("not pasted");
  return done;
}

it("gives two steps of one name a name each, and what refers to them the first", () => {
  const { doc } = pasted(
    addStep(emptyDoc, web("a")),
    clip(web("a"), web("a"), web("b", { needs: ["a"] })),
  );
  expect(doc.steps.map((step) => step.key)).toEqual(["a", "a-2", "a-3", "b"]);
  expect(stepOf(doc, "b")?.needs).toEqual(["a-2"]);
});

it("leaves a field to the server whose name every object knows", () => {
  expect(parseClip(clip({ ...web("a"), constructor: "x" }))).toHaveProperty("steps");
});

it("lays steps without a place side by side", () => {
  const { doc } = pasted(emptyDoc, clip(web("a"), web("b"), web("c"), web("d"), web("e")));
  const spots = doc.steps.map((step) => `${step.position?.x} ${step.position?.y}`);
  expect(new Set(spots).size).toBe(5);
});

it("puts a second paste beside the first", () => {
  const first = addComment(addStep(emptyDoc, web("a", { position: { x: 0, y: 0 } })), {
    text: "why",
    position: { x: 300, y: 0 },
  });
  const text = copySteps(first, new Set(["a", "#0"]));
  const twice = pasted(pasted(first, text).doc, text).doc;
  const all = [...twice.steps, ...twice.comments].map(({ position }) => JSON.stringify(position));
  expect(new Set(all).size).toBe(6);
});

it("puts in the middle of what is seen what would land out of sight", () => {
  const sight = { x: 0, y: 0, width: 1000, height: 600 };
  const far = clip(
    web("a", { position: { x: 5000, y: 5000 } }),
    web("b", { position: { x: 5200, y: 5100 } }),
  );
  const { doc } = pasted(emptyDoc, far, sight);
  expect(doc.steps.map((step) => step.position)).toEqual([
    { x: 400, y: 250 },
    { x: 600, y: 350 },
  ]);
});
