import { expect, it } from "vitest";
import { acrossTabs, firstTab, readPageSearch, shownRun } from "./search";

it("keeps what the page knows, and nothing else", () => {
  const read = readPageSearch({ run: 2, log: "web,db", find: "GET /", since: 3600, span: 7, x: 1 });
  expect({ ...read }).toEqual({ run: 2, log: "web,db", find: "GET /", since: 3600 });
});

it("keeps the line of a step's log and how the steps are shown", () => {
  expect({ ...readPageSearch({ step: "seed", line: 1_048_577, view: "time" }) }).toEqual({
    step: "seed",
    line: 1_048_577,
    view: "time",
  });
  expect({ ...readPageSearch({ line: -1, view: "graph" }) }).toEqual({});
});

it("looks for digits that were typed without quotes", () => {
  expect(readPageSearch({ find: 404 }).find).toBe("404");
});

it("takes the run along to a tab that tells of it, and leaves what is the tab's own", () => {
  const here = { run: 2, step: "seed", log: "web", at: "x/1", find: "GET", since: 600, span: 600 };
  expect(acrossTabs("logs")(here)).toEqual({ run: 2, step: "seed" });
  expect(acrossTabs("run")({ ...here, view: "time", line: 7 })).toEqual({
    run: 2,
    step: "seed",
    view: "time",
  });
  expect(acrossTabs("services")(here)).toEqual({});
  expect(acrossTabs("services")({ step: "seed", log: "web" })).toEqual({ step: "seed" });
});

it("shows the latest run, but where an earlier one can be shown and is asked for", () => {
  expect(shownRun("run", { run: 1 }, 3)).toBe(1);
  expect(shownRun("run", {}, 3)).toBe(3);
  for (const tab of ["services", "metrics", "terminal", "details", "history"])
    expect(shownRun(tab, { run: 1 }, 3)).toBe(3);
});

it("opens what is ready on its services, unless the address names a run or a step", () => {
  expect(firstTab("ready", {})).toBe("services");
  expect(firstTab("applying", {})).toBe("run");
  expect(firstTab("ready", { run: 1 })).toBe("run");
  expect(firstTab("ready", { step: "seed" })).toBe("run");
});
