// @vitest-environment jsdom
import { act, renderHook } from "@testing-library/react";
import { expect, it, vi } from "vitest";
import { useTypedValue } from "./useTypedValue";

it("waits for nothing once what is typed is what was there", () => {
  const { result, rerender } = renderHook(({ kept }) => useTypedValue(kept, () => {}), {
    initialProps: { kept: "" },
  });
  act(() => result.current[1]("c"));
  act(() => result.current[1](""));
  rerender({ kept: "c" });
  expect(result.current[0]).toBe("c");
});

it("shows what is typed at once, and takes over only what came from elsewhere", () => {
  const set = vi.fn();
  const { result, rerender } = renderHook(({ kept }) => useTypedValue(kept, set), {
    initialProps: { kept: "" },
  });
  const [text, type] = [
    () => result.current[0],
    (next: string) => act(() => result.current[1](next)),
  ];
  type("c");
  type("ca");
  rerender({ kept: "c" });
  expect(text()).toBe("ca");
  rerender({ kept: "ca" });
  type("car");
  rerender({ kept: "car" });
  expect(text()).toBe("car");
  rerender({ kept: "" });
  expect(text()).toBe("");
  expect(set.mock.calls.flat()).toEqual(["c", "ca", "car"]);
});
