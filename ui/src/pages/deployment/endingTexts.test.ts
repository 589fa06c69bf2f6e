import { describe, expect, it } from "vitest";
import type { Deployment, Schemas, Step } from "@/api/client";
import type { Reset } from "@/api/queries/activity";
import { describeCancel, describeLastUse, volumesOf } from "@/pages/deployment/endingTexts";
import { pageTexts } from "@/pages/deployment/pageTexts";

const made = (more: object = {}) =>
  ({
    status: "applying",
    steps_done: 2,
    steps_total: 5,
    services: [],
    ...more,
  }) as unknown as Deployment;
const steps = (...all: Step["status"][]) => all.map((status) => ({ status }) as Step);

describe("the question before canceling", () => {
  it("says what is undone, of the steps that are known", () => {
    expect(describeCancel(made(), steps("done", "running", "pending"))).toMatch(
      /^Stops at step 2 of 3 and undoes that and the 1 finished step in reverse order/,
    );
    expect(describeCancel(made(), [])).toMatch(/^Stops at step 3 of 5 .* the 2 finished steps/);
  });

  it("speaks of no finished steps where there are none", () => {
    const first = describeCancel(made({ steps_done: 0 }), steps("running", "pending"));
    expect(first).toMatch(/^Stops at step 1 of 2 and undoes what it began\./);
    expect(describeCancel(made({ status: "queued" }), steps("pending"))).toMatch(/has not started/);
  });
});

describe("the question before deleting", () => {
  const pipeline = {
    steps: [
      { key: "db", service: { name: "db", volumes: [{ name: "data", path: "/data" }] } },
      { key: "old", service: { name: "old", volumes: [{ name: "data", path: "/data" }] } },
      { key: "seed", plugin: { name: "sql" } },
    ],
  } as unknown as Schemas["Pipeline"];

  it("names the volumes of what runs", () => {
    expect(volumesOf(made({ services: [{ step: "db" }] }), pipeline)).toEqual(["db/data"]);
    expect(pageTexts.removeBody(1, 1, ["db/data"])).toMatch(
      /its data is erased: db\/data\. 1 URL says/,
    );
    expect(pageTexts.removeBody(2, 0, [])).toBe("2 services stop now; it has no volume.");
    expect(pageTexts.removeBody(2, 2)).toMatch(/its data is erased\. 2 URLs say/);
  });

  it("says who used it last, but not that it was made", () => {
    const now = Date.parse("2026-11-24T12:00:00Z");
    const at = "2026-11-24T11:56:00Z";
    const created: Reset = { at: "2026-11-20T12:00:00Z", kind: "created", by: "ann" };
    const visited: Reset = { at, kind: "visited", by: "a visitor" };
    expect(describeLastUse([visited, created], now)).toBe("Last used: a visit, 4 min ago.");
    expect(describeLastUse([created], now)).toBeUndefined();
  });
});
