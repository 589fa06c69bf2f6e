import { cleanup, fireEvent, render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, describe, expect, it, vi } from "vitest";
import { ApiError } from "@/api/client";
import { texts } from "@/texts";
import { Button } from "./Button";
import { Field } from "./Field";
import { Glyph } from "./Glyph";
import { ErrorState } from "./States";
import { Pill, Rail, StatusMark } from "./Status";

afterEach(cleanup);

describe("a button", () => {
  it("with a reason stays reachable, says why, and does nothing", async () => {
    const press = vi.fn();
    render(
      <Button reason="You have Read on shop." onClick={press}>
        Retry
      </Button>,
    );
    const button = screen.getByRole("button", { name: "Retry" });
    await userEvent.tab();
    expect(document.activeElement).toBe(button);
    expect(button.title).toBe("You have Read on shop.");
    await userEvent.click(button);
    expect(press).not.toHaveBeenCalled();
  });

  it("shows its reason to who presses it, and describes itself by it, until Escape", async () => {
    render(<Button reason="You have Read on shop.">Retry</Button>);
    const button = screen.getByRole("button", { name: "Retry" });
    expect(screen.queryByRole("tooltip")).toBeNull();
    await userEvent.click(button);
    const tip = screen.getByRole("tooltip");
    expect(tip.textContent).toBe("You have Read on shop.");
    expect(button.getAttribute("aria-describedby")).toBe(tip.id);
    await userEvent.keyboard("{Escape}");
    expect(screen.queryByRole("tooltip")).toBeNull();
    await userEvent.keyboard("{Enter}");
    expect(screen.getByRole("tooltip")).toBeTruthy();
    await userEvent.click(document.body);
    expect(screen.queryByRole("tooltip")).toBeNull();
  });

  it("keeps its reason told while a log beside it scrolls, and where it was scrolled to", async () => {
    render(
      <>
        <div data-testid="log" />
        <div data-testid="pane">
          <Button reason="You have Read on shop.">Retry</Button>
        </div>
      </>,
    );
    await userEvent.tab();
    const tip = screen.getByRole("tooltip");
    const button = screen.getByRole("button", { name: "Retry" });
    const at = (top: number) => new DOMRect(40, top, 60, 30);
    button.getBoundingClientRect = () => at(100);
    fireEvent.scroll(screen.getByTestId("log"));
    expect(screen.queryByRole("tooltip")).toBe(tip);
    expect(tip.style.top).toBe("6px");
    fireEvent.scroll(screen.getByTestId("pane"));
    expect(tip.style.top).toBe("136px");
    button.getBoundingClientRect = () => at(-80);
    fireEvent.scroll(screen.getByTestId("pane"));
    expect(tip.style.visibility).toBe("hidden");
  });

  it("that is busy says so and does nothing twice", async () => {
    const press = vi.fn();
    render(
      <Button busy="Creating…" onClick={press}>
        Create
      </Button>,
    );
    await userEvent.click(screen.getByText("Creating…"));
    expect(press).not.toHaveBeenCalled();
  });
});

describe("a field", () => {
  it("says its refusal to everybody", () => {
    render(<Field label="Name" error="Taken. Choose another." defaultValue="cart" />);
    const input = screen.getByLabelText("Name");
    expect(input.getAttribute("aria-invalid")).toBe("true");
    const said = document.getElementById(input.getAttribute("aria-describedby") ?? "");
    expect(said?.textContent).toBe("Taken. Choose another.");
    expect(screen.getByRole("alert")).toBeTruthy();
  });
});

describe("a state", () => {
  it.each(Object.entries(texts.states))("%s has a word and a shape of its own", (state, word) => {
    const { container } = render(<StatusMark state={state} />);
    expect(container.textContent).toBe(word);
    expect(container.querySelector("svg")?.children.length).toBeGreaterThan(0);
  });

  it("that is not known is drawn as unknown instead of breaking", () => {
    const { container } = render(<Pill state="something-new" />);
    expect(container.textContent).toBe("something-new");
    const unknown = render(<Glyph state="unknown" />).container.querySelector("svg")?.innerHTML;
    expect(container.querySelector("svg")?.innerHTML).toBe(unknown);
    const { container: row } = render(<Rail state="something-new" />);
    expect(row.querySelector(".rail")?.getAttribute("data-st")).toBe("unknown");
  });
});

describe("an error", () => {
  it("says what, why, what to do, and which request it was", async () => {
    const retry = vi.fn();
    const problem = {
      type: "about:blank",
      title: "x",
      status: 503,
      code: "db",
      detail: "The database did not answer.",
      remedy: "Try again soon.",
      request_id: "01937c1e",
    };
    render(
      <ErrorState
        what="Deployments could not be read."
        error={new ApiError(503, problem)}
        retry={retry}
        stale="What you see was read 40 s ago."
      />,
    );
    const alert = screen.getByRole("alert");
    for (const part of [
      "Deployments could not be read.",
      "The database did not answer.",
      "Try again soon.",
      "40 s ago",
      "01937c1e",
    ])
      expect(alert.textContent).toContain(part);
    await userEvent.click(screen.getByRole("button", { name: texts.tryAgain }));
    expect(retry).toHaveBeenCalledOnce();
  });
});
