import { cleanup, fireEvent, render } from "@testing-library/react";
import { afterEach, expect, it, vi } from "vitest";
import { ApiError, type Problem } from "@/api/client";
import { LiveBadge, useKeys } from "./Shell";

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

it("says why there is no link any more: a session that ended is not the only reason", () => {
  const refused = (status: number) => new ApiError(status, { title: "no", status } as Problem);
  const said = (status: number) => {
    const { container } = render(
      <LiveBadge state={{ kind: "out", since: 0, error: refused(status) }} />,
    );
    return container.textContent;
  };
  expect([401, 403, 404].map(said)).toEqual(["Signed out", "Access lost", "No longer here"]);
});
