import { describe, expect, it } from "vitest";
import { canonical, type Doc, emptyDoc, type Step, stepOf } from "./document";
import {
  addComment,
  addNeed,
  addStep,
  commentId,
  removeSelected,
  renameStep,
  setField,
} from "./edit";
import { merge, renamesIn, threeWay } from "./merge";
import { pasteSteps } from "./pasteSteps";
import { buildStep, fieldsOf } from "./stepFields";

const web: Step = {
  key: "web",
  position: { x: 1, y: 2 },
  service: {
    name: "web",
    env: { HOST: "db" },
    resources: { memory_mib: 1 },
    files: [
      { path: "/etc/a.conf", content: "a" },
      { path: "/etc/b.conf", content: "b" },
    ],
    ports: [{ name: "http", port: 80 }],
  },
};
const base: Doc = addNeed(
  addStep(addStep(emptyDoc, web), {
    key: "job",
    service: { name: "job", resources: { memory_mib: 1 }, env: { URL: "${{ services.web.url }}" } },
  }),
  "web",
  "job",
);

function write(doc: Doc, path: string, content: string): Doc {
  const files = stepOf(doc, "web")?.service?.files ?? [];
  const next = files.map((one) => (one.path === path ? { path, content } : one));
  return setField(doc, "web", "service.files", next);
}

// Requirement 15.3.6 of the ASVS: names that every object knows are names like any other, whoever
// wrote the steps.
it("changes no other object by names such as __proto__", () => {
  const text = `{"nullops": "pipeline-steps", "steps": [{"key": "hostile",
    "service": {"name": "web", "env": {"__proto__": "own", "constructor": "own"}},
    "plugin": {"name": "p", "parameters": {"__proto__": {"polluted": true}}}}]}`;
  const pasted = pasteSteps(emptyDoc, text, { by: { x: 0, y: 0 } });
  if (!pasted || "wrong" in pasted) throw new Error("not pasted");
  const theirs = addStep(emptyDoc, web);
  const both = merge(emptyDoc, pasted.doc, theirs, {});
  const edited = setField(both, "hostile", "plugin.parameters.__proto__", { polluted: 2 });
  for (const doc of [pasted.doc, both]) {
    const step = stepOf(doc, "hostile");
    expect(JSON.stringify(step?.service)).toContain('"__proto__":"own","constructor":"own"');
    expect(JSON.stringify(step?.plugin)).toContain('"__proto__":{"polluted":true}');
    expect(step?.plugin?.parameters).not.toHaveProperty("polluted");
  }
  expect(JSON.stringify(stepOf(edited, "hostile")?.plugin)).toContain('{"polluted":2}');
  expect({}).not.toHaveProperty("polluted");
});

describe("three drawings", () => {
  it("have a field for each file, port and volume: edits of two do not meet", () => {
    const mine = write(base, "/etc/a.conf", "mine");
    const theirs = write(base, "/etc/b.conf", "theirs");
    expect(threeWay(base, mine, theirs).conflicts).toEqual([]);
    expect(stepOf(merge(base, mine, theirs, {}), "web")?.service?.files).toEqual([
      { path: "/etc/a.conf", content: "mine" },
      { path: "/etc/b.conf", content: "theirs" },
    ]);
    const meets = threeWay(base, mine, write(base, "/etc/a.conf", "theirs")).conflicts;
    expect(meets.map((one) => one.path)).toEqual(["service.files./etc/a.conf"]);
  });

  it("are the same whether a step waits for an empty list or for none", () => {
    const none = setField(base, "web", "needs", undefined);
    expect(threeWay(none, setField(base, "web", "needs", []), none).mine).toEqual([]);
  });

  it("make the step again that their fields came of, even of two entries with one name", () => {
    const twice = setField(base, "web", "service.ports", [
      { name: "", port: 1 },
      { name: "", port: 2 },
    ]);
    for (const step of [...base.steps, ...twice.steps])
      expect(canonical(buildStep(step.key, fieldsOf(step)))).toBe(canonical(step));
  });

  it("know a step that one renamed and the other edited, and what refers to it", () => {
    const mine = renameStep(base, "web", "site");
    const theirs = setField(base, "web", "service.env.X", "1");
    expect(threeWay(base, mine, theirs).conflicts).toEqual([]);
    for (const both of [merge(base, mine, theirs, {}), merge(base, theirs, mine, {})]) {
      expect(both.steps.map((step) => step.key).sort()).toEqual(["job", "site"]);
      expect(stepOf(both, "site")?.service?.env).toEqual({ HOST: "db", X: "1" });
      expect(stepOf(both, "job")?.needs).toEqual(["site"]);
      expect(stepOf(both, "job")?.service?.env?.URL).toBe("${{ services.site.url }}");
    }
    const told = renamesIn(base, theirs, mine, merge(base, theirs, mine, {}));
    expect(told).toEqual(new Map([["web", "site"]]));
    expect(threeWay(base, mine, theirs).mine).toContainEqual({
      key: "site",
      kind: "changed",
      fields: [{ path: "key", old: "web", now: "site" }],
    });
  });

  it("hold what they added under a name that I gave a step of before", () => {
    const mine = renameStep(base, "web", "site");
    const added = addStep(base, {
      key: "site",
      service: { name: "other", resources: { memory_mib: 1 } },
    });
    const theirs = setField(added, "web", "service.env.X", "1");
    const both = merge(base, mine, theirs, {});
    expect(both.steps.map((step) => step.key).sort()).toEqual(["job", "site", "site-2"]);
    expect(stepOf(both, "site")?.service?.name).toBe("other");
    expect(stepOf(both, "site-2")?.service?.env?.X).toBe("1");
    expect(stepOf(both, "job")?.needs).toEqual(["site-2"]);
  });

  it("are theirs to the order where I drew nothing", () => {
    const theirs = { ...base, steps: [...base.steps].reverse() };
    expect(canonical(merge(base, base, theirs, {}))).toBe(canonical(theirs));
  });

  it("say where my comments went", () => {
    const of = (...texts: string[]) =>
      texts.reduce((doc, text) => addComment(doc, { text, position: { x: 0, y: 0 } }), base);
    const [was, mine] = [of("one", "two"), of("one", "two", "mine")];
    const theirs = removeSelected(was, new Set([commentId(0)]));
    const next = merge(was, mine, theirs, {});
    expect(next.comments.map((one) => one.text)).toEqual(["two", "mine"]);
    expect(renamesIn(was, mine, theirs, next)).toEqual(
      new Map([
        ["#0", ""],
        ["#1", "#0"],
        ["#2", "#1"],
      ]),
    );
  });
});
