import { describe, expect, it } from "vitest";
import type { Schemas } from "@/api/client";
import { type Catalogue, fits, orderOf } from "./catalogue";
import { copy, paste } from "./clipboard";
import {
  addComment,
  addNeed,
  addStep,
  commentId,
  removeChosen,
  renameStep,
  setField,
  whyNotNeed,
  wire,
} from "./edit";
import { environmentOf } from "./environment";
import { parse, refText, single } from "./expr";
import { begin, edit, redo, undo } from "./history";
import { changesOf, merge, threeWay } from "./merge";
import { type Doc, emptyDoc, stepOf } from "./model";
import { problemsOf } from "./problems";
import { align, tidy } from "./shape";

const component: Schemas["Component"] = {
  parameters: {
    type: "object",
    required: ["host", "port"],
    properties: { host: { type: "string" }, port: { type: "integer" } },
  },
  outputs: { type: "object", properties: { dsn: { type: "string", writeOnly: true } } },
  secrets: [{ name: "password", required: true }],
} as Schemas["Component"];

const catalogue: Catalogue = {
  services: new Map(["db", "web"].map((name) => [name, { name } as Schemas["Service"]])),
  plugins: new Map([["create", { name: "create", component } as Schemas["Plugin"]]]),
  secrets: ["DB_PASSWORD"],
};

/** db → make → web, with values along the edges. */
function shop(): Doc {
  const ports = [{ name: "pg", port: 5432 }];
  let doc = addStep(emptyDoc, {
    key: "db",
    service: { name: "db", resources: { memory_mib: 64 }, ports },
  });
  doc = addStep(doc, { key: "make", plugin: { name: "create" } });
  doc = addStep(doc, { key: "web", service: { name: "web", resources: { memory_mib: 64 } } });
  doc = wire(doc, "db", "host", "make", "plugin.parameters.host");
  doc = wire(doc, "db", "port", "make", "plugin.parameters.port");
  doc = setField(doc, "make", "plugin.secrets.password", "${{ secrets.DB_PASSWORD }}");
  return wire(doc, "make", "dsn", "web", "service.env.DSN");
}

describe("edits", () => {
  it("draws the order from values, and refuses circles", () => {
    const doc = shop();
    expect(orderOf(doc)).toEqual(["db", "make", "web"]);
    expect(stepOf(doc, "web")?.needs).toEqual(["make"]);
    expect(whyNotNeed(doc, "web", "db")).toBe("circle");
    expect(whyNotNeed(doc, "db", "db")).toBe("self");
    expect(addNeed(doc, "web", "db")).toBe(doc);
  });

  it("finds no problem in what is right, and each in what is wrong", () => {
    const doc = shop();
    expect(problemsOf(doc, catalogue)).toEqual([]);
    const codes = (changed: Doc) => problemsOf(changed, catalogue).map((one) => one.code);
    expect(codes(setField(doc, "make", "plugin.parameters.host", undefined))).toEqual(["required"]);
    expect(
      codes(setField(doc, "make", "plugin.parameters.port", "${{ services.db.host }}")),
    ).toEqual(["wrong_type"]);
    expect(codes(setField(doc, "db", "service.env.X", "${{ steps.make.outputs.dsn }}"))).toEqual([
      "not_ancestor",
    ]);
    expect(codes(setField(doc, "db", "service.env.X", "${{ secrets.NONE }}"))).toEqual([
      "unknown_secret",
    ]);
    expect(codes(setField(doc, "db", "service.env.X", "${{ oops"))).toEqual(["syntax"]);
    expect(codes(emptyDoc)).toEqual(["empty"]);
  });

  it("renames a step wherever it is spoken of", () => {
    const doc = renameStep(shop(), "db", "postgres");
    expect(stepOf(doc, "make")?.needs).toEqual(["postgres"]);
    expect(stepOf(doc, "make")?.plugin?.parameters?.host).toBe("${{ services.postgres.host }}");
    expect(problemsOf(doc, catalogue)).toEqual([]);
  });

  it("pastes copies that refer to each other, here and in another project", () => {
    const doc = shop();
    const text = copy(addComment(doc, { text: "why" }), new Set(["db", "make", commentId(0)]));
    const here = paste(doc, text, { x: 10, y: 10 });
    expect([...(here?.ids ?? [])]).toEqual(["db-2", "make-2", "#0"]);
    const pasted = here && stepOf(here.doc, "make-2");
    expect(pasted?.needs).toEqual(["db-2"]);
    expect(pasted?.plugin?.parameters?.host).toBe("${{ services.db-2.host }}");
    const there = paste(emptyDoc, text, { x: 0, y: 0 });
    expect(there?.doc.steps.map((step) => step.key)).toEqual(["db", "make"]);
    expect(paste(doc, "not ours", { x: 0, y: 0 })).toBeUndefined();
  });

  it("removes steps with their edges, and undoes that without limit", () => {
    let history = begin(shop());
    for (let i = 0; i < 300; i++)
      history = edit(history, setField(history.now, "db", "service.env.N", String(i)));
    history = edit(history, removeChosen(history.now, new Set(["make"])));
    expect(stepOf(history.now, "web")?.needs).toBeUndefined();
    for (let i = 0; i < 301; i++) history = undo(history);
    expect(changesOf(shop(), history.now)).toEqual([]);
    for (let i = 0; i < 301; i++) history = redo(history);
    expect(history.now.steps).toHaveLength(2);
  });

  it("lays out, and aligns what is nearly level", async () => {
    const spots = await tidy(shop(), catalogue);
    expect((spots.get("db")?.x ?? 0) < (spots.get("make")?.x ?? 0)).toBe(true);
    const box = { x: 3, y: 100, width: 10, height: 10 };
    const { spot, guides } = align(box, [{ x: 0, y: 0, width: 10, height: 10 }], 6);
    expect(spot).toEqual({ x: 0, y: 100 });
    expect(guides.map((guide) => guide.axis)).toEqual(["x"]);
  });
});

describe("references", () => {
  it("are read as the server reads them", () => {
    expect(parse("a${{ deployment.name }}b").parts).toHaveLength(3);
    expect(parse("$${{ x }}").parts).toEqual([{ text: "${{ x }}" }]);
    expect(parse("${{ a + b }}").wrong).toBeDefined();
    const ref = single("${{ steps.make.outputs.dsn }}");
    expect(ref && refText(ref)).toBe("steps.make.outputs.dsn");
  });

  it("connect only where the type fits", () => {
    expect(fits("number", "text")).toBe(false);
    expect(fits("number", "secret")).toBe(false);
    expect(fits("secret", "text")).toBe(true);
    expect(fits("url", "text")).toBe(true);
    expect(fits("text", "number")).toBe(false);
  });

  it("show a service's environment without any secret", () => {
    const doc = setField(shop(), "web", "service.env.HOST", "http://${{ services.db.host }}/");
    const step = stepOf(doc, "web");
    if (!step) throw new Error("no step");
    const sample = { name: "sample", environment: "qa", project: "shop", domain: "test" };
    const text = environmentOf(step, doc, catalogue, sample).map(
      (one) => `${one.name}=${one.pieces.map((piece) => piece.text).join("")}`,
    );
    expect(text).toEqual(["DSN=[secret]", "HOST=http://db/"]);
  });
});

describe("two drawings that came of one", () => {
  it("are put together; what both changed is asked", () => {
    const base = shop();
    const mine = setField(setField(base, "web", "service.env.A", "1"), "db", "service.env.X", "m");
    const theirs = setField(
      addStep(setField(base, "db", "service.env.X", "t"), {
        key: "new",
        service: { name: "web", resources: {} },
      }),
      "web",
      "service.env.B",
      "2",
    );
    const { conflicts } = threeWay(base, mine, theirs);
    expect(conflicts.map((one) => [one.key, one.path, one.mine, one.theirs])).toEqual([
      ["db", "service.env.X", "m", "t"],
    ]);
    const both = merge(base, mine, theirs, { "db service.env.X": "theirs" });
    expect(stepOf(both, "web")?.service?.env).toMatchObject({ A: "1", B: "2" });
    expect(stepOf(both, "db")?.service?.env?.X).toBe("t");
    expect(stepOf(both, "new")).toBeDefined();
    expect(changesOf(merge(base, base, theirs, {}), theirs)).toEqual([]);
    expect(changesOf(merge(base, mine, base, {}), mine)).toEqual([]);
  });

  it("keep both of two steps that got one name", () => {
    const made = (x: number) =>
      addStep(shop(), {
        key: "ask",
        approval: { prompt: "", timeout_seconds: 60 },
        position: { x, y: 0 },
      });
    const both = merge(shop(), made(1), made(2), {});
    expect(both.steps.map((step) => step.key).sort()).toEqual([
      "ask",
      "ask-2",
      "db",
      "make",
      "web",
    ]);
    expect(merge(shop(), made(1), made(1), {}).steps).toHaveLength(4);
  });

  it("ask when one removed what the other changed", () => {
    const base = shop();
    const mine = removeChosen(base, new Set(["db"]));
    const theirs = setField(base, "db", "service.env.X", "t");
    const { conflicts } = threeWay(base, mine, theirs);
    expect(conflicts.map((one) => one.key)).toEqual(["db"]);
    expect(stepOf(merge(base, mine, theirs, {}), "db")).toBeUndefined();
    expect(stepOf(merge(base, mine, theirs, { "db ": "theirs" }), "db")).toBeDefined();
  });
});
