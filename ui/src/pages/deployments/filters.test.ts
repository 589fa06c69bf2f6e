import { describe, expect, it } from "vitest";
import type { Deployment } from "@/api/client";
import { filterDeployments, groupOf, isNarrowed, mainUrl, onlySet, readFilters } from "./filters";
import { askedOf } from "./useRecords";

const make = (more: Partial<Deployment>) =>
  ({
    id: "1",
    name: "cart",
    project: "shop",
    environment: "qa",
    status: "ready",
    created_by: "lena",
    versions: [{ step: "web", tag: "feat-x-1" }],
    services: [],
    ...more,
  }) as unknown as Deployment;

describe("the list's groups", () => {
  it.each([
    ["failed", "attention"],
    ["stuck", "attention"],
    ["queued", "progress"],
    ["undoing", "progress"],
    ["removing", "progress"],
    ["ready", "ready"],
    ["canceled", "ended"],
  ] as const)("%s is in %s", (status, group) => expect(groupOf(make({ status }))).toBe(group));

  it("what is degraded needs attention, and is found as such, not as ready", () => {
    const degraded = make({ condition: "degraded" });
    const away = make({ condition: "offline" });
    expect(groupOf(degraded)).toBe("attention");
    const found = (state: string) =>
      filterDeployments([make({}), degraded, away], { state }, "lena");
    expect(found("degraded")).toEqual([degraded]);
    expect(found("offline")).toEqual([away]);
    expect(found("ready")).toHaveLength(1);
  });

  it("puts what runs on an offline node before people", () =>
    expect(groupOf(make({ node_offline_since: "2026-11-21T12:00:00Z" }))).toBe("attention"));

  it.each([
    [{ may_answer: true }, "attention"],
    [{ may_answer: false }, "progress"],
    [{ may_answer: true, answered_by: "aiko" }, "progress"],
  ] as const)("puts a run that asks %j in %s", (question, group) => {
    const asks = make({ status: "applying", question: question as never });
    expect(groupOf(asks)).toBe(group);
    expect(filterDeployments([asks], { view: "attention" }, "")).toHaveLength(
      group === "attention" ? 1 : 0,
    );
  });
});

describe("filters", () => {
  const all = [
    make({}),
    make({ id: "2", name: "other", created_by: "aiko", environment: "qa-us" }),
  ];

  it("finds by name, tag, owner and URL", () => {
    for (const q of ["CART", "lena"]) expect(filterDeployments(all, { q }, "")).toHaveLength(1);
    expect(filterDeployments(all, { q: "feat-x" }, "")).toHaveLength(2);
  });

  it("joins with and", () => {
    expect(filterDeployments(all, { view: "mine", env: "qa" }, "lena")).toHaveLength(1);
    expect(filterDeployments(all, { view: "mine", env: "qa-us" }, "lena")).toHaveLength(0);
  });

  it("reads only what it knows from the URL", () => {
    expect(readFilters({ view: "x", env: 3, state: "failed", q: 42 })).toMatchObject({
      state: "failed",
      q: "42",
    });
  });
});

describe("the URL to open", () => {
  const service = (step: string, health: string) => ({
    step,
    health,
    url: `http://${step}`,
    ports: [],
    restarts: 0,
  });

  it("is web's, when there is one", () =>
    expect(
      mainUrl(make({ services: [service("web", "healthy"), service("zap", "healthy")] as never }))
        ?.step,
    ).toBe("web"));

  it("is none while it is not ready", () =>
    expect(
      mainUrl(make({ status: "applying", services: [service("web", "starting")] as never })),
    ).toBeUndefined());
});

describe("records of what runs no more", () => {
  it("are asked for in each state they can have", () => {
    expect(askedOf({ view: "removed", env: "qa", q: "cart" })).toEqual({
      environment: "qa",
      project: undefined,
      search: "cart",
      status: ["removed", "canceled", "forgotten"],
    });
    expect(askedOf({ state: "canceled" })?.status).toEqual(["canceled"]);
  });

  it("are none in a state that only what runs can have", () =>
    expect(askedOf({ state: "ready" })).toBeUndefined());
});

it("a view alone narrows nothing, and what is not set is left out of an address", () => {
  expect(isNarrowed({ view: "mine", q: undefined })).toBe(false);
  expect(isNarrowed({ q: "cart" })).toBe(true);
  expect(onlySet({ view: undefined, q: "", env: "qa" })).toEqual({ env: "qa" });
});
