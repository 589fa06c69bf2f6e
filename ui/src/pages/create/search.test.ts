import { expect, it } from "vitest";
import { fromList, readCreateSearch, versionsIn, withChoice } from "./search";

it("reads only what it knows, and versions by step", () => {
  const read = readCreateSearch({
    project: "shop",
    evil: "x",
    "v.api": "v1.2",
    "v.": "x",
    name: 4,
  });
  expect(read).toEqual({ project: "shop", "v.api": "v1.2" });
  expect(versionsIn(read)).toEqual({ api: "v1.2" });
});

it("takes no number for a tag: it may be another one by now", () =>
  expect(versionsIn(readCreateSearch({ "v.api": 1.2 }))).toEqual({}));

it("begins with what the list is narrowed to, and knows the way back", () => {
  const filters = { view: "mine", env: "qa", q: "cart" } as const;
  expect(readCreateSearch(fromList(filters))).toEqual({ env: "qa", list: filters });
  expect(fromList({ view: undefined, q: "" })).toEqual({});
  expect(readCreateSearch({ list: "mine" }).list).toBeUndefined();
});

it("another choice takes the place of the one before, and leaves the rest", () => {
  const before = { project: "shop", "v.api": "v1", "v.web": "v2", name: "cart" };
  expect(withChoice(before, undefined, { api: "v3" })).toEqual({ project: "shop", "v.api": "v3" });
});
