import { expect, it } from "vitest";
import { ancestorsOf, type Catalogue, orderOf, outputsOf } from "./catalogue";
import { type Doc, sameDoc, stepOf } from "./document";
import { addNeed, setField } from "./edit";
import { changesOf } from "./merge";

const steps = [
  { key: "db", service: { name: "db" } },
  { key: "web", service: { name: "web", env: { A: "1" } } },
];
const doc: Doc = { steps, comments: [] };
const none = (): Catalogue => ({ services: new Map(), plugins: new Map(), secrets: [] });

it("finds what follows from lines anew only when a line is another", () => {
  const typed = setField(doc, "web", "service.env.A", "2");
  expect(ancestorsOf(typed)).toBe(ancestorsOf(doc));
  expect(orderOf(typed)).toBe(orderOf(doc));
  const drawn = addNeed(typed, "web", "db");
  expect(orderOf(drawn)).toEqual(["web", "db"]);
  expect(ancestorsOf(drawn).get("db")?.has("web")).toBe(true);
  expect(orderOf(doc)).toEqual(["db", "web"]);
});

it("finds what follows from a step once for each catalogue and each change", () => {
  const catalogue = none();
  const [db] = doc.steps;
  if (!db) throw new Error("no step");
  expect(outputsOf(db, catalogue)).toBe(outputsOf(db, catalogue));
  expect(outputsOf(db, none())).not.toBe(outputsOf(db, catalogue));
  const port = [{ name: "http", port: 80 }];
  const changed = stepOf(setField(doc, "db", "service.ports", port), "db") ?? db;
  expect(outputsOf(changed, catalogue).map((one) => one.name)).toEqual(["host", "port"]);
});

it("compares only what differs, and says the same", () => {
  const there = setField(setField(doc, "web", "service.env.A", "2"), "web", "service.env.A", "1");
  expect(sameDoc(doc, there)).toBe(true);
  expect(changesOf(doc, there)).toEqual([]);
  const changed = setField(doc, "web", "service.env.A", "2");
  expect(sameDoc(doc, changed)).toBe(false);
  expect(sameDoc(doc, { ...doc, steps: doc.steps.slice(1) })).toBe(false);
  expect(changesOf(doc, changed).map((one) => one.key)).toEqual(["web"]);
});
