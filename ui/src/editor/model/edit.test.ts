import { describe, expect, it } from "vitest";
import type { Schemas } from "@/api/client";
import { layoutSteps, snapBox } from "../canvas/stepGeometry";
import { begin, edit, redo, undo } from "../session/history";
import { type Catalogue, isAssignable, orderOf } from "./catalogue";
import { copySteps } from "./clipboard";
import { type Doc, emptyDoc, stepOf } from "./document";
import {
  addComment,
  addInputReference,
  addNeed,
  addStep,
  allIds,
  commentId,
  removeInputReference,
  removeSelected,
  renameStep,
  setField,
  whyNotAddNeed,
} from "./edit";
import { parse, parseSingleRef, refText } from "./expressions";
import { changesOf, merge, threeWay } from "./merge";
import { pasteSteps } from "./pasteSteps";
import { problemsOf } from "./problems";
import { referenceOptions } from "./referenceOptions";

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
  doc = addInputReference(doc, "db", "host", "make", "plugin.parameters.host");
  doc = addInputReference(doc, "db", "port", "make", "plugin.parameters.port");
  doc = setField(doc, "make", "plugin.secrets.password", "${{ secrets.DB_PASSWORD }}");
  return addInputReference(doc, "make", "dsn", "web", "service.env.DSN");
}

function pasteOf(doc: Doc, text: string) {
  const pasted = pasteSteps(doc, text, { by: { x: 10, y: 10 } });
  if (!pasted || "wrong" in pasted) throw new Error("nothing was pasted");
  return pasted;
}

describe("edits", () => {
  it("draws the order from values, and refuses circles", () => {
    const doc = shop();
    expect(orderOf(doc)).toEqual(["db", "make", "web"]);
    expect(stepOf(doc, "web")?.needs).toEqual(["make"]);
    expect(whyNotAddNeed(doc, "web", "db")).toBe("circle");
    expect(whyNotAddNeed(doc, "db", "db")).toBe("self");
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
    const text = copySteps(addComment(doc, { text: "why" }), new Set(["db", "make", commentId(0)]));
    const here = pasteOf(doc, text);
    expect([...here.ids]).toEqual(["db-2", "make-2", "#0"]);
    const pasted = stepOf(here.doc, "make-2");
    expect(pasted?.needs).toEqual(["db-2"]);
    expect(pasted?.plugin?.parameters?.host).toBe("${{ services.db-2.host }}");
    const there = pasteOf(emptyDoc, text);
    expect(there.doc.steps.map((step) => step.key)).toEqual(["db", "make"]);
    expect(pasteSteps(doc, "not ours", { by: { x: 0, y: 0 } })).toBeUndefined();
    expect(pasteSteps(doc, "null", { by: { x: 0, y: 0 } })).toBeUndefined();
  });

  it("chooses every step and every comment", () => {
    expect([...allIds(addComment(shop(), { text: "why" }))]).toEqual(["db", "make", "web", "#0"]);
  });

  it("refuses a clip with values of the wrong kind, and says where", () => {
    const wrong = (step: object) =>
      pasteSteps(emptyDoc, JSON.stringify({ steps: [{ key: "a", ...step }] }), {
        by: { x: 0, y: 0 },
      });
    const web = { name: "web", resources: {} };
    expect(wrong({ service: { ...web, env: { PORT: 8080 } } })).toEqual({
      wrong: "steps[0].service.env.PORT",
    });
    expect(wrong({ service: web, needs: "db" })).toEqual({ wrong: "steps[0].needs" });
    expect(wrong({ service: web, needs: [1] })).toEqual({ wrong: "steps[0].needs[0]" });
    expect(wrong({ service: web, position: { x: "1", y: 0 } })).toEqual({
      wrong: "steps[0].position.x",
    });
    expect(wrong({ service: "web" })).toEqual({ wrong: "steps[0].service" });
    expect(wrong({ service: web, key: "a|b" })).toEqual({ wrong: "steps[0].key" });
    expect(wrong({ approval: {} })).toEqual({ wrong: "steps[0].approval.prompt" });
    expect(wrong({ service: { ...web, env: { PORT: "8080" } } })).toHaveProperty("doc");
  });

  it("wires a port into text that is there, and takes that reference alone away", () => {
    const doc = setField(shop(), "web", "service.env.URL", "http://x/");
    const both = addInputReference(doc, "db", "host", "web", "service.env.URL", true);
    const env = (now: Doc) => stepOf(now, "web")?.service?.env;
    expect(env(both)?.URL).toBe("http://x/${{ services.db.host }}");
    expect(addInputReference(both, "db", "host", "web", "service.env.URL", true)).toEqual(both);
    expect(env(removeInputReference(both, "db", "host", "web", "service.env.URL"))?.URL).toBe(
      "http://x/",
    );
    expect(env(addInputReference(both, "db", "port", "web", "service.env.DSN", true))?.DSN).toBe(
      "${{ services.db.port }}",
    );
    expect(env(removeInputReference(both, "make", "dsn", "web", "service.env.DSN"))?.DSN).toBe("");
    const bare = removeInputReference(both, "db", "host", "make", "plugin.parameters.host");
    expect(stepOf(bare, "make")?.plugin?.parameters).not.toHaveProperty("host");
  });

  it("removes steps with their edges, and undoes that without limit", () => {
    let history = begin(shop());
    for (let i = 0; i < 300; i++)
      history = edit(history, setField(history.now, "db", "service.env.N", String(i)));
    history = edit(history, removeSelected(history.now, new Set(["make"])));
    expect(stepOf(history.now, "web")?.needs).toBeUndefined();
    for (let i = 0; i < 301; i++) history = undo(history);
    expect(changesOf(shop(), history.now)).toEqual([]);
    for (let i = 0; i < 301; i++) history = redo(history);
    expect(history.now.steps).toHaveLength(2);
  });

  it("lays out, and aligns what is nearly level", async () => {
    const spots = await layoutSteps(shop(), catalogue);
    expect((spots.get("db")?.x ?? 0) < (spots.get("make")?.x ?? 0)).toBe(true);
    const box = { x: 3, y: 100, width: 10, height: 10 };
    const { spot, guides } = snapBox(box, [{ x: 0, y: 0, width: 10, height: 10 }], 6);
    expect(spot).toEqual({ x: 0, y: 100 });
    expect(guides.map((guide) => guide.axis)).toEqual(["x"]);
  });
});

describe("references", () => {
  it("are read as the server reads them", () => {
    expect(parse("a${{ deployment.name }}b").parts).toHaveLength(3);
    expect(parse("$${{ x }}").parts).toEqual([{ text: "${{ x }}" }]);
    expect(parse("${{ a + b }}").wrong).toBeDefined();
    const ref = parseSingleRef("${{ steps.make.outputs.dsn }}");
    expect(ref && refText(ref)).toBe("steps.make.outputs.dsn");
  });

  it("connect only where the type fits", () => {
    expect(isAssignable("number", "text")).toBe(false);
    expect(isAssignable("number", "secret")).toBe(false);
    expect(isAssignable("secret", "text")).toBe(true);
    expect(isAssignable("url", "text")).toBe(true);
    expect(isAssignable("text", "number")).toBe(false);
  });

  it("to secrets are not offered where everybody can read them", () => {
    const doc = shop();
    const step = stepOf(doc, "web");
    if (!step) throw new Error("no step");
    const offered = (path: string) =>
      referenceOptions(doc, catalogue, step, "any", path).map((one) => one.text);
    const secrets = ["${{ secrets.DB_PASSWORD }}", "${{ steps.make.outputs.dsn }}"];
    for (const secret of secrets) {
      expect(offered("service.env.X")).toContain(secret);
      expect(offered("service.command")).not.toContain(secret);
    }
    expect(offered("service.command")).toContain("${{ services.db.host }}");
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

  it("keep comments that say the same", () => {
    const at = (x: number) => ({ text: "", position: { x, y: 0 } });
    const base = { steps: [], comments: [at(1), at(1)] };
    const mine = addComment(base, at(2));
    const theirs = addComment(base, at(3));
    const spots = (doc: Doc) => doc.comments.map((one) => one.position?.x).sort();
    expect(spots(merge(base, mine, theirs, {}))).toEqual([1, 1, 2, 3]);
    expect(spots(merge(base, mine, mine, {}))).toEqual([1, 1, 2]);
    const fewer = removeSelected(mine, new Set([commentId(0)]));
    expect(spots(merge(mine, fewer, mine, {}))).toEqual([1, 2]);
  });

  it("ask when one removed what the other changed", () => {
    const base = shop();
    const mine = removeSelected(base, new Set(["db"]));
    const theirs = setField(base, "db", "service.env.X", "t");
    const { conflicts } = threeWay(base, mine, theirs);
    expect(conflicts.map((one) => one.key)).toEqual(["db"]);
    expect(stepOf(merge(base, mine, theirs, {}), "db")).toBeUndefined();
    expect(stepOf(merge(base, mine, theirs, { "db ": "theirs" }), "db")).toBeDefined();
  });
});
