import { renderHook } from "@testing-library/react";
import { expect, it, vi } from "vitest";
import { useLoadMore } from "./useLoadMore";

it("reads on near the end only, again for each page that came, and never while nothing can be read", () => {
  const more = vi.fn();
  const { rerender } = renderHook(
    ({ last, count, ready }) => useLoadMore(last, count, ready ? more : undefined),
    { initialProps: { last: 10, count: 200, ready: true } },
  );
  expect(more).toHaveBeenCalledTimes(0);
  rerender({ last: 185, count: 200, ready: true });
  rerender({ last: 190, count: 200, ready: true });
  expect(more).toHaveBeenCalledTimes(1);
  rerender({ last: 199, count: 200, ready: false });
  rerender({ last: 199, count: 205, ready: true });
  expect(more).toHaveBeenCalledTimes(2);
  rerender({ last: 199, count: 405, ready: true });
  expect(more).toHaveBeenCalledTimes(2);
});
