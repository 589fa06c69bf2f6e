import { cleanup, fireEvent, render } from "@testing-library/react";
import { afterEach, expect, it, vi } from "vitest";
import { useKeys } from "./Shell";

afterEach(cleanup);

function Page({ press, terminal }: { press: () => void; terminal?: boolean }) {
  useKeys({ e: press });
  return terminal ? <div data-terminal="api" /> : <p>a page</p>;
}

it("takes single keys, but none beside a terminal, whose link may be lost", () => {
  const press = vi.fn();
  const { rerender } = render(<Page press={press} />);
  fireEvent.keyDown(document.body, { key: "e" });
  expect(press).toHaveBeenCalledTimes(1);
  rerender(<Page press={press} terminal />);
  fireEvent.keyDown(document.body, { key: "e" });
  expect(press).toHaveBeenCalledTimes(1);
});
