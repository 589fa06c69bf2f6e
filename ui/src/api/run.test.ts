import { describe, expect, it } from "vitest";
import type { Deployment } from "./client";
import { mergeOne, mergeRead } from "./mergeDeployments";
import { nothingWatched, reduce, stepId } from "./run";

const deployment = (revision: number, more: Partial<Deployment> = {}) =>
  ({ id: "a", name: "cart", revision, status: "applying", services: [], ...more }) as Deployment;
const event = (name: string, data: unknown) => ({
  event: name,
  data: JSON.stringify(data),
  id: "",
});

describe("what a page knows of a deployment", () => {
  it("never goes back to an older revision", () => {
    const state = reduce(nothingWatched, [
      event("deployment", deployment(5)),
      event("deployment", deployment(4)),
    ]);
    expect(state.deployment?.revision).toBe(5);
  });

  it("keeps steps of different runs apart", () => {
    const step = (run: number, status: string) => ({ run, key: "api", status });
    const state = reduce(nothingWatched, [
      event("step", step(1, "failed")),
      event("step", step(2, "running")),
    ]);
    expect(state.steps[stepId(1, "api")]?.status).toBe("failed");
    expect(state.steps[stepId(2, "api")]?.status).toBe("running");
  });

  it("puts lines of a batch into their steps once", () => {
    const line = (number: number) =>
      event("line", { run: 1, step: "api", number, at: "", text: "" });
    const state = reduce(nothingWatched, [line(1), line(2), line(2), line(1), line(3)]);
    expect(state.logs[stepId(1, "api")]?.lines.map((one) => one.number)).toEqual([1, 2, 3]);
  });

  it("takes health into the deployment without losing services it does not name", () => {
    const health = (step: string, word: string) => ({ step, health: word, ports: [], restarts: 0 });
    const state = reduce(nothingWatched, [
      event(
        "deployment",
        deployment(1, { services: [health("api", "starting"), health("db", "healthy")] as never }),
      ),
      event("health", [health("api", "healthy")]),
    ]);
    expect(state.deployment?.services.map((s) => s.health)).toEqual(["healthy", "healthy"]);
  });

  it("survives an event it cannot read", () => {
    const broken = { event: "step", data: "{", id: "" };
    expect(reduce(nothingWatched, [broken, { event: "other", data: "1", id: "" }])).toEqual(
      nothingWatched,
    );
  });
});

describe("the list", () => {
  it("takes a newer reading in place and a new deployment on top", () => {
    const list = [deployment(1), deployment(1, { id: "b" })];
    expect(mergeOne(list, deployment(2)).map((d) => d.revision)).toEqual([2, 1]);
    expect(mergeOne(list, deployment(0))).toBe(list);
    expect(mergeOne(list, deployment(1, { id: "c" }))[0]?.id).toBe("c");
  });

  it("does not take back what was told while it was being read", () => {
    expect(mergeRead([deployment(7)], [deployment(6)])[0]?.revision).toBe(7);
  });
});
