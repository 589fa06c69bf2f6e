import { expect, it } from "vitest";
import { readViews, sameFilters } from "./views";

it("takes broken storage for no views", () => {
  expect(readViews("{")).toEqual([]);
  expect(readViews('{"name":"x"}')).toEqual([]);
  expect(readViews(null)).toEqual([]);
});

it("keeps of a view only what is a filter", () => {
  const [view] = readViews('[{"name":"Cart","filters":{"q":"cart","evil":"x"}},{"name":""}]');
  expect(view?.name).toBe("Cart");
  expect(sameFilters(view?.filters ?? {}, { q: "cart" })).toBe(true);
  expect(sameFilters({ q: "cart" }, { q: "cart", env: "qa" })).toBe(false);
});
