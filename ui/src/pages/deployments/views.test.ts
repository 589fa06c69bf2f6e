// @vitest-environment jsdom
import { act, renderHook } from "@testing-library/react";
import { expect, it } from "vitest";
import { readViews, sameFilters, useViews } from "./views";

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

it("takes a deletion back among views that were saved since", () => {
  localStorage.clear();
  const { result } = renderHook(() => useViews("lena"));
  act(() => result.current.save("Cart", { q: "cart" }));
  const { drop, save } = result.current;
  act(() => drop("Cart"));
  act(() => result.current.save("QA", { env: "qa" }));
  act(() => save("Cart", { q: "cart" }));
  expect(result.current.views.map((one) => one.name)).toEqual(["QA", "Cart"]);
  expect(readViews(localStorage.getItem("nullops.views.lena")).map((one) => one.name)).toEqual([
    "QA",
    "Cart",
  ]);
});

it("are of one person, and each change is one of what another tab has kept by then", () => {
  localStorage.clear();
  const { result } = renderHook(() => useViews("lena"));
  const others = renderHook(() => useViews("aiko"));
  act(() => result.current.save("Cart", { q: "cart" }));
  expect(others.result.current.views).toEqual([]);
  const theirs = [{ name: "Pay", filters: { q: "pay" } }];
  localStorage.setItem("nullops.views.lena", JSON.stringify(theirs));
  act(() => result.current.save("QA", { env: "qa" }));
  expect(result.current.views.map((one) => one.name)).toEqual(["Pay", "QA"]);
  localStorage.setItem("nullops.views.lena", JSON.stringify(theirs));
  act(() => void window.dispatchEvent(new StorageEvent("storage")));
  expect(result.current.views.map((one) => one.name)).toEqual(["Pay"]);
});
