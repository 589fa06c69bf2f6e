import { expect, it } from "vitest";
import { bodyOf, findProblems, initialValues, leadsTo, tagProblem } from "./values";

const good = { ...initialValues(), name: "shop", project: "shop", environment: "qa" };

it("spells a branch in the tag as builds do, and names the deployment by rule and number", () => {
  expect(leadsTo({ name: "shop", tag: "{branch}-{short}" })).toEqual({
    tag: "feature-Login-4f2a91c",
    deployment: "shop-7",
  });
  expect(leadsTo({ name: "", tag: "pr-{number}" })).toEqual({ tag: "pr-7", deployment: "rule-7" });
});

it("knows the words of a tag, and refuses patterns of many", () => {
  for (const tag of ["pr-{number}", "{branch}-{short}", "{tag}", "v1"])
    expect(tagProblem(tag)).toBeUndefined();
  for (const tag of ["", "pr-{nr}", "pr-{number", "pr-*", "a b"])
    expect(tagProblem(tag)).toBeTruthy();
});

it("says every field that is wrong", () => {
  expect(findProblems(good, false, [])).toEqual({});
  expect(Object.keys(findProblems({ ...initialValues(), tag: "*" }, false, []))).toEqual([
    "name",
    "project",
    "environment",
    "tag",
  ]);
  const more = { ...good, name: "a".repeat(25), wait_minutes: "0", secret: "short" };
  expect(Object.keys(findProblems(more, false, []))).toEqual(["name", "wait_minutes", "secret"]);
  expect(findProblems({ ...good, wait_minutes: "soon" }, true, [])).toHaveProperty("wait_minutes");
});

it("keeps secret and token unless they are typed, and forgets the token when asked", () => {
  expect(bodyOf(good)).toMatchObject({ secret: undefined, token: undefined, branch: undefined });
  expect(bodyOf({ ...good, token: "t", wait_minutes: "5" })).toMatchObject({
    token: "t",
    wait_minutes: 5,
  });
  expect(bodyOf({ ...good, token: "t", forget: true }).token).toBe("");
});

it("asks for addresses that follow when they are ticked, and prepares updates beside what runs", () => {
  expect(bodyOf(good)).toMatchObject({ aliases: undefined, updates: "aside" });
  expect(bodyOf({ ...good, aliases: true, updates: "replace" })).toMatchObject({
    aliases: true,
    updates: "replace",
    data: undefined,
  });
  const stored = { ...bodyOf({ ...good, aliases: true }), name: "shop", wait_minutes: 30 };
  const read = { ...stored, active: true, created_by: "ada", created_at: "2026-01-02T10:00:00Z" };
  expect(bodyOf(initialValues(read))).toMatchObject({ aliases: true, updates: "aside" });
});

it("sends a schedule in place of what pull requests need", () => {
  const nightly = {
    ...good,
    source: "schedule" as const,
    branch: "main",
    labels: "qa",
    repository: "acme/shop",
    "schedule.at": "02:30",
    "schedule.time_zone": "Europe/Berlin",
    "schedule.lifetime_hours": "12",
  };
  expect(findProblems(nightly, false, [])).toEqual({});
  expect(bodyOf(nightly)).toMatchObject({
    tag: "{branch}",
    repository: undefined,
    filter: undefined,
    schedule: { at: "02:30", time_zone: "Europe/Berlin", lifetime_hours: 12, until: undefined },
  });
  const until = "2027-01-31T12:05:00.000Z";
  const read = { ...bodyOf(nightly), name: "shop", wait_minutes: 30, updates: "aside" as const };
  const ending = initialValues({
    ...{ ...read, active: true, created_by: "ada", created_at: "2026-01-02T10:00:00Z" },
    schedule: { at: "02:30", time_zone: "UTC", until },
  });
  expect(ending["schedule.until"]).toMatch(/^2027-01-3\dT\d\d:\d5$/);
  expect(bodyOf(ending).schedule?.until).toBe(until);
  expect(bodyOf(good).schedule).toBeUndefined();
  const wrong = { ...nightly, branch: "release/*", "schedule.at": "" };
  expect(Object.keys(findProblems(wrong, false, []))).toEqual(["branch", "schedule.at"]);
});
