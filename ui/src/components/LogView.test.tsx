import { cleanup, render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { LogView } from "./LogView";

beforeAll(() => {
  // jsdom has no layout: the box is given a size, so that lines are drawn.
  const size = (name: string, value: number) =>
    Object.defineProperty(HTMLElement.prototype, name, { configurable: true, value });
  size("clientWidth", 800);
  size("clientHeight", 600);
  size("offsetHeight", 19);
  HTMLElement.prototype.scrollTo = () => undefined;
  globalThis.ResizeObserver ??= class {
    observe() {}
    unobserve() {}
    disconnect() {}
  };
});
afterEach(cleanup);

const at = "2026-11-21T12:00:01.500Z";
const row = (number: number, text: string, dropped?: number) => ({ number, at, text, dropped });
const draw = (lines: ReturnType<typeof row>[]) =>
  render(
    <LogView
      label="Log of seed"
      name="seed"
      lines={lines}
      start="2026-11-21T12:00:00Z"
      empty="It has written nothing."
    />,
  );

describe("the log", () => {
  it("shows hostile lines as text and makes no element of them", () => {
    const { container } = draw([
      row(1, "<img src=x onerror=alert(1)><script>1</script>"),
      row(2, "\u001b[31mred\u001b[0m"),
    ]);
    expect(screen.getByText("<img src=x onerror=alert(1)><script>1</script>")).toBeTruthy();
    expect(container.querySelectorAll(".ln img, .ln script")).toHaveLength(0);
    expect(screen.getByText("red").className).toBe("a1");
  });

  it("says in its place how many lines were left out", () => {
    draw([row(1, "first"), row(1206, "then", 1204)]);
    expect(screen.getByText(/1,204 lines left out/)).toBeTruthy();
  });

  it("shows secrets as masked, and times since the step began", () => {
    draw([row(1, "dsn=postgres://app:[secret]@db")]);
    expect(screen.getByText("[secret]").className).toBe("se");
    expect(screen.getByText("1.500")).toBeTruthy();
  });

  it("says so when there is nothing", () => {
    draw([]);
    expect(screen.getByText("It has written nothing.")).toBeTruthy();
  });

  it("finds text and counts the hits", async () => {
    draw([row(1, "alpha"), row(2, "beta"), row(3, "ALPHA two")]);
    await userEvent.type(screen.getByLabelText("Find in log"), "alpha");
    expect(screen.getByText("1 of 2")).toBeTruthy();
  });
});
