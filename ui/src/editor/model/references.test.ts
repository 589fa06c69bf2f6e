import { describe, expect, it } from "vitest";
import { whyNotConnect } from "../canvas/connections";
import { type Catalogue, parametersOf } from "./catalogue";
import { type Doc, stepOf } from "./document";
import { setField } from "./edit";
import { referenceOptions } from "./referenceOptions";
import { addReference, insertReference, removeReference, setFieldAndOrder } from "./references";

const catalogue: Catalogue = { services: new Map(), plugins: new Map(), secrets: [] };
catalogue.plugins.set("seed", {
  name: "seed",
  component: {
    parameters: { properties: { text: { type: "string" }, tree: { type: "object" } } },
    outputs: {
      properties: { rows: { type: "integer" }, key: { type: "string", writeOnly: true } },
    },
  },
} as never);
const ports = [{ name: "http", port: 80, expose: true }];
const doc: Doc = {
  steps: [
    { key: "db", service: { name: "db", ports } },
    { key: "seed", plugin: { name: "seed", parameters: { text: "rows: " } } },
    {
      key: "web",
      service: { name: "web", ports, env: { A: "" }, files: [{ path: "/a", content: "x" }] },
    },
    { key: "ask", needs: ["web"], approval: { prompt: "Go on?", timeout_seconds: 60 } },
  ],
  comments: [],
};
const needs = (of: Doc, key: string) => stepOf(of, key)?.needs ?? [];
const set = (path: string, value: unknown, key = "web") =>
  setFieldAndOrder(doc, catalogue, key, path, value);

describe("a reference that is typed or chosen", () => {
  it("has the step wait for what it reads", () => {
    expect(needs(set("service.env.A", "${{ services.db.host }}:5432"), "web")).toEqual(["db"]);
    const both = set("plugin.parameters.tree", { a: ["${{ services.web.port }}"] }, "seed");
    expect(needs(both, "seed")).toEqual(["web"]);
  });

  it("does so only when it is complete, is known and makes no circle", () => {
    for (const text of [
      "${{ services.db.ho",
      "${{ services.db.nothing }}",
      "${{ services.none.host }}",
      "${{ steps.ask.outputs.answered_by }}",
    ])
      expect(needs(set("service.env.A", text), "web")).toEqual([]);
  });

  it("waits for no step whose URL is read, nor anew for one that it was told not to wait for", () => {
    expect(needs(set("service.env.A", "${{ services.db.url }}"), "web")).toEqual([]);
    const held = setField(doc, "web", "service.env.A", "${{ services.db.host }}");
    const typed = setFieldAndOrder(
      held,
      catalogue,
      "web",
      "service.env.A",
      "${{ services.db.host }}x",
    );
    expect(needs(typed, "web")).toEqual([]);
  });

  it("stands at the caret, or in place of the one that stood alone", () => {
    expect(insertReference("ab", "${{ x }}", 1)).toBe("a${{ x }}b");
    expect(insertReference("ab", "${{ x }}")).toBe("ab${{ x }}");
    expect(insertReference("${{ secrets.A }}", "${{ secrets.B }}", 3)).toBe("${{ secrets.B }}");
  });
});

describe("an output that is dropped", () => {
  const drop = (from: string, output: string, to: string, path: string) =>
    stepOf(addReference(doc, catalogue, from, output, to, path), to);
  const judge = (from: string, output: string, target: string, path: string) =>
    whyNotConnect(doc, catalogue, {
      source: from,
      sourceHandle: `out:${output}`,
      target,
      targetHandle: `in:${path}`,
    });

  it("is taken by files, commands, questions and a new variable", () => {
    expect(drop("db", "host", "web", "service.files[0].content")?.service?.files).toEqual([
      { path: "/a", content: "x${{ services.db.host }}" },
    ]);
    expect(drop("db", "host", "web", "service.command")?.service?.command).toEqual([
      "${{ services.db.host }}",
    ]);
    expect(drop("web", "url", "ask", "approval.prompt")?.approval?.prompt).toBe(
      "Go on?${{ services.web.url }}",
    );
    const made = drop("db", "host", "web", "service.env");
    expect(made?.service?.env).toEqual({ A: "", DB_HOST: "${{ services.db.host }}" });
    expect(made?.needs).toEqual(["db"]);
    for (const path of ["service.files[0].content", "service.command", "service.env"])
      expect(judge("db", "host", "web", path)).toBeNull();
    expect(judge("web", "url", "ask", "approval.prompt")).toBeNull();
  });

  it("is refused where others would read a secret", () => {
    expect(judge("seed", "key", "ask", "approval.prompt")).toMatch(/is a secret/);
    expect(judge("seed", "key", "web", "service.command")).toMatch(/is a secret/);
    expect(judge("seed", "key", "web", "service.files[0].content")).toBeNull();
  });

  it("may be a number beside text, by mouse and in the menu", () => {
    expect(judge("db", "port", "seed", "plugin.parameters.text")).toBeNull();
    const empty = setField(doc, "seed", "plugin.parameters.text", undefined);
    const labels = (of: Doc) => {
      const step = stepOf(of, "seed");
      return (
        step &&
        referenceOptions(of, catalogue, step, "text", "plugin.parameters.text").map(
          (one) => one.label,
        )
      );
    };
    expect(labels(doc)).toContain("db › port");
    expect(labels(empty)).not.toContain("db › port");
  });

  it("goes from where it is, and leaves the rest", () => {
    const off = (path: string, value: unknown, key = "web") => {
      const held = setField(doc, key, path, value);
      return stepOf(removeReference(held, "db", "host", key, path), key);
    };
    const ref = "${{ services.db.host }}";
    expect(off("service.command", ["a", ref])?.service?.command).toEqual(["a"]);
    expect(off("service.command", [ref])?.service?.command).toBeUndefined();
    expect(off("service.files[0].content", ref)?.service?.files?.[0]?.content).toBe("");
    const tree = off("plugin.parameters.tree", { a: [ref, 1] }, "seed");
    expect(tree?.plugin?.parameters?.tree).toEqual({ a: ["", 1] });
  });
});

it("shows a plugin's parameters in the order of the schema; unless noted, the required ones first", () => {
  const names = ["port", "user", "host", "database"];
  const schema = {
    required: ["host", "database"],
    properties: Object.fromEntries(names.map((name) => [name, {}])),
  };
  expect(parametersOf(schema).map(([name]) => name)).toEqual(["host", "database", "port", "user"]);
  const noted = { ...schema, "x-order": ["user", "host"] };
  expect(parametersOf(noted).map(([name]) => name)).toEqual(["user", "host", "port", "database"]);
  expect(parametersOf(undefined)).toEqual([]);
});
