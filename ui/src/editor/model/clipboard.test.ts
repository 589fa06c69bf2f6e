import { expect, it } from "vitest";
import { copySteps } from "./clipboard";
import { type Doc, emptyDoc, type Step, stepOf } from "./document";
import { addComment, addStep } from "./edit";
import type { Landing } from "./pastePlacement";
import { parseClip, pasteSteps } from "./pasteSteps";

const BY = { x: 40, y: 40 };
const web = (key: string, more: Partial<Step> = {}): Step => ({
  key,
  service: { name: "web" },
  ...more,
});
const clip = (...steps: object[]) => JSON.stringify({ nullops: "pipeline-steps", steps });

function pasted(doc: Doc, text: string, more: Partial<Landing> = {}) {
  const done = pasteSteps(doc, text, { by: BY, ...more });
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
  const { doc } = pasted(emptyDoc, far, { sight });
  expect(doc.steps.map((step) => step.position)).toEqual([
    { x: 308, y: 205 },
    { x: 508, y: 305 },
  ]);
});

it("puts copies where somebody points, and beside what is there", () => {
  const text = clip(web("a", { position: { x: 900, y: 900 } }));
  const at = { x: 500, y: 300 };
  const once = pasted(emptyDoc, text, { at }).doc;
  expect(once.steps[0]?.position).toEqual({ x: 408, y: 255 });
  const [, second] = pasted(once, text, { at }).doc.steps;
  expect(second?.position).toEqual({ x: 408, y: 255 + 90 + 16 });
});
