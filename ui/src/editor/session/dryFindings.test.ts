import { describe, expect, it } from "vitest";
import type { Schemas } from "@/api/client";
import type { Doc } from "../model/document";
import { addComment, moveItems, setField } from "../model/edit";
import { hasSameRun, resultOf } from "./dryFindings";

type Check = Schemas["PreflightCheck"];
const doc: Doc = {
  steps: [
    {
      key: "web",
      service: { name: "web", env: { TOKEN: "x${{ secrets.token }}" }, resources: {} },
    },
    { key: "db", service: { name: "db", resources: {} } },
    { key: "qa", approval: { prompt: "Go on?", timeout_seconds: 60 } },
  ],
  comments: [],
};
const check = (id: string, state: Check["state"], subject?: string): Check => ({
  id,
  state,
  subject,
  message: `${id}.`,
});
const room = check("capacity", "ok");
const passed = (checks: Check[]) => [...resultOf(doc, checks).passed];

describe("a dry run", () => {
  it("passes every step once all was looked at", () => {
    expect(passed([check("tag", "ok", "web"), room])).toEqual(["web", "db", "qa"]);
  });

  it("passes nothing while the images were not looked at", () => {
    const unknown = check("tag", "unknown");
    expect(passed([check("schema", "failed", "web"), unknown])).toEqual([]);
    expect(passed([check("version", "failed", "web")])).toEqual([]);
  });

  it("passes no step of which something is unknown or refused", () => {
    expect(passed([check("platform", "unknown", "db"), room])).toEqual(["web", "qa"]);
    expect(passed([check("tag", "failed", "web"), room])).toEqual(["db", "qa"]);
  });

  it("tells of a missing secret where it is read", () => {
    const { problems, passed } = resultOf(doc, [check("secret", "failed", "token"), room]);
    expect(problems.map((one) => one.step)).toEqual(["web"]);
    expect([...passed]).toEqual(["db", "qa"]);
  });

  it("does not take an environment for the step of its name", () => {
    const { problems } = resultOf(doc, [check("environment", "failed", "qa")]);
    expect(problems.map((one) => one.step)).toEqual([undefined]);
  });
});

it("holds while steps are moved and comments written, and no longer", () => {
  const at = { x: 1, y: 2 };
  const moved = moveItems(doc, new Map([["db", at]]));
  expect(hasSameRun(doc, addComment(moved, { text: "x", position: at }))).toBe(true);
  expect(hasSameRun(doc, setField(doc, "web", "service.env.A", "1"))).toBe(false);
});
