import { cleanup, render, screen } from "@testing-library/react";
import { afterEach, expect, it } from "vitest";
import { AttentionList } from "./AttentionList";

afterEach(cleanup);

const well = { troubles: [], unread: [], stale: false, disabled: 0 };

it("says that nothing needs anybody only when all was read, and of which nodes", () => {
  const { rerender } = render(<AttentionList {...well} />);
  screen.getByRole("heading", { name: "Nothing needs you" });
  screen.getByText(/^Every node is heard/);
  rerender(<AttentionList {...well} disabled={2} />);
  screen.getByText(/^Every node that is not disabled is heard.* 2 nodes are disabled/);
  for (const lack of [{ unread: ["The queue"] }, { stale: true }]) {
    rerender(<AttentionList {...well} {...lack} />);
    screen.getByRole("heading", { name: "What needs you is not fully known" });
    expect(screen.queryByText(/is heard/)).toBeNull();
  }
});
