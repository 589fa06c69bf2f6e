import { expect, it } from "vitest";
import type { Catalogue } from "../model/catalogue";
import type { Doc } from "../model/document";
import { setField } from "../model/edit";
import { edgesOf, keepUnchangedEdges } from "./edges";
import { MORE, MORE_OUT, MOST, shapeOf } from "./stepGeometry";

const catalogue: Catalogue = { services: new Map(), plugins: new Map(), secrets: [] };
const ref = "${{ services.db.host }}";
const env = (count: number, value: (i: number) => string) =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`V${i}`, value(i)]));
const web = (service: object) => ({ key: "web", service: { name: "web", ...service } });
const lines = (step: Doc["steps"][number]) =>
  edgesOf(
    { steps: [{ key: "db", service: { name: "db" } }, step], comments: [] },
    catalogue,
    new Map(),
  ).map((one) => one.targetHandle);

it("shows references before literals where there is no room for all", () => {
  const step = web({ env: env(15, (i) => (i > 12 ? ref : String(i))) });
  const shape = shapeOf(step, catalogue);
  expect(shape.inputs.map((one) => one.name).slice(0, 3)).toEqual(["V13", "V14", "V0"]);
  expect([shape.inputs.length, shape.more]).toEqual([MOST, 15 - MOST]);
  expect(lines(step)).toEqual(["in:service.env.V13", "in:service.env.V14"]);
});

it("leaves fields in their order where all of them show", () => {
  const step = web({ env: { A: "1", B: ref } });
  expect(shapeOf(step, catalogue).inputs.map((one) => one.name)).toEqual(["A", "B"]);
});

it("has the lines of hidden references end at one port", () => {
  const all = lines(web({ env: env(MOST + 2, () => ref) }));
  expect(all.slice(MOST)).toEqual([MORE, MORE]);
});

it("draws a line to references in files and commands too", () => {
  const files = [{ path: "/etc/a", content: `host=${ref}` }];
  const all = lines(web({ files, command: ["run", ref, ref] }));
  expect(all).toEqual(["in:service.files[0].content", "in:service.command"]);
});

it("keeps each line that is as it was, whatever else is typed", () => {
  const steps = [{ key: "db", service: { name: "db" } }, web({ env: { A: ref } })];
  const of = (doc: Doc) => edgesOf(doc, catalogue, new Map());
  const doc: Doc = { steps, comments: [] };
  const before = new Map(of(doc).map((line) => [line.id, line]));
  const typed = setField(doc, "web", "service.env.B", `${ref}x`);
  const [first, second] = keepUnchangedEdges(of(typed), before);
  expect(first).toBe(before.get("value|db|host|web|service.env.A"));
  expect(second?.id).toBe("value|db|host|web|service.env.B");
});

it("has the lines of hidden outputs begin at one port", () => {
  const names = Array.from({ length: MOST + 2 }, (_, i) => [`o${i}`, { type: "string" }]);
  const component = { outputs: { properties: Object.fromEntries(names) } };
  const make = { key: "make", plugin: { name: "make", component } };
  const to = (i: number) => `\${{ steps.make.outputs.o${i} }}`;
  const steps = [make, web({ env: { A: to(0), B: to(MOST) } })];
  const all = edgesOf({ steps, comments: [] }, catalogue, new Map());
  expect(all.map((one) => one.sourceHandle)).toEqual(["out:o0", MORE_OUT]);
  expect(shapeOf(make, catalogue).moreOut).toBe(2);
});
