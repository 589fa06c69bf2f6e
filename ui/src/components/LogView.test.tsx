import { cleanup, fireEvent, render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { formatLogRow } from "./LogTools";
import { LogView } from "./LogView";

beforeAll(() => {
  // jsdom has no layout: the box is given a size, so that lines are drawn.
  vi.spyOn(Element.prototype, "clientWidth", "get").mockReturnValue(800);
  vi.spyOn(Element.prototype, "clientHeight", "get").mockReturnValue(600);
  vi.spyOn(HTMLElement.prototype, "offsetHeight", "get").mockReturnValue(19);
  HTMLElement.prototype.scrollTo = () => undefined;
  vi.stubGlobal(
    "ResizeObserver",
    class {
      observe() {}
      unobserve() {}
      disconnect() {}
    },
  );
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
      empty="The log is empty."
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

  it("says before the first line that there are earlier ones, and goes on counting", () => {
    const lines = [{ at, text: "third" }];
    const before = "Begins with its last lines.";
    render(<LogView label="Log" name="web" lines={lines} empty="" cut={2} before={before} />);
    expect(screen.getByText("Begins with its last lines.")).toBeTruthy();
    expect(screen.getByText(/2 earlier lines no longer kept/)).toBeTruthy();
    expect(screen.getByText("3").className).toBe("k");
  });

  it("shows secrets as masked, and times since the step began", () => {
    draw([row(1, "dsn=postgres://app:[secret]@db")]);
    expect(screen.getByText("[secret]").className).toBe("se");
    expect(screen.getByText("1.500")).toBeTruthy();
  });

  it("takes records apart into columns, and shows them as they were written on V", async () => {
    const text = '{"level":"error","msg":"no disk","port":80}';
    const { container } = draw([row(1, text), row(2, "plain")]);
    const cells = () => [...container.querySelectorAll(".lv, .tx")].map((cell) => cell.textContent);
    expect(cells()).toEqual(["ERR", "no disk port=80", "", "plain"]);
    expect(container.querySelector(".ln[data-level=error] .tx")?.textContent).toContain("no disk");
    await userEvent.keyboard("v");
    expect(cells()).toEqual(["ERR", text, "", "plain"]);
    await userEvent.click(screen.getByRole("button", { name: /as they were written/ }));
    expect(cells()[1]).toBe("no disk port=80");
  });

  it("has no column for levels where no line has one", () => {
    const { container } = draw([row(1, "plain"), row(2, "0 errors")]);
    expect(container.querySelector(".lv")).toBeNull();
    expect(screen.queryByRole("button", { name: /error/ })).toBeNull();
  });

  it("goes to the first error, then on and round, by button and by key", async () => {
    const { container } = draw([row(1, "ok"), row(2, "error: a"), row(3, "ok"), row(4, "ERROR b")]);
    const at = () => container.querySelector(".ln.hit .tx")?.textContent;
    await userEvent.click(screen.getByRole("button", { name: "2 errors, go to the first error" }));
    expect(at()).toBe("error: a");
    expect(screen.getByRole("button", { name: "error 1 of 2" })).toBeTruthy();
    await userEvent.keyboard("p");
    expect(at()).toBe("ERROR b");
    await userEvent.keyboard("p");
    expect(at()).toBe("error: a");
    await userEvent.keyboard("{Shift>}P{/Shift}");
    expect(at()).toBe("ERROR b");
  });

  it("counts the lines of each attempt from one, and marks the one that says why it failed", () => {
    const lines = [row(1, "first"), row(1_048_577, "second"), row(8_388_609, "gone")];
    const { container } = render(
      <LogView
        label="Log"
        name="web"
        lines={lines}
        start={at}
        empty=""
        cause={1_048_577}
        target="1048577"
      />,
    );
    const said = [...container.querySelectorAll(".k, .mk")].map((one) => one.textContent);
    expect(said).toEqual(["1", "Attempt 2", "1", "Undo", "1"]);
    expect(screen.getAllByText("1")[1]?.title).toBe("Attempt 2, line 1");
    expect(container.querySelector(".ln.cause .tx")?.textContent).toBe("second");
    expect(container.querySelector(".ln.hit .tx")?.textContent).toBe("second");
  });

  it("links each line, and goes there without leaving the page", async () => {
    const go = vi.fn();
    const link = ({ number }: { number?: number }) => `http://x/?line=${number}`;
    render(<LogView label="Log" name="web" lines={[row(7, "x")]} empty="" link={link} go={go} />);
    const anchor = screen.getByRole("link", { name: "7" });
    expect(anchor.getAttribute("href")).toBe("http://x/?line=7");
    await userEvent.click(anchor);
    expect(go).toHaveBeenCalledWith(expect.objectContaining({ number: 7 }));
  });

  it("says so when there is nothing", () => {
    draw([]);
    expect(screen.getByText("The log is empty.")).toBeTruthy();
  });

  it("finds text and counts the hits", async () => {
    draw([row(1, "alpha"), row(2, "beta"), row(3, "ALPHA two")]);
    await userEvent.type(screen.getByLabelText("Find in log"), "alpha");
    expect(screen.getByText("1 of 2")).toBeTruthy();
  });

  it("hides what was not looked for, shows lines around it, and says how many it hides", async () => {
    const { container } = draw(["a", "b", "ERROR", "c", "d"].map((text, at) => row(at + 1, text)));
    const shown = () => [...container.querySelectorAll(".tx")].map((cell) => cell.textContent);
    await userEvent.type(screen.getByLabelText("Find in log"), "error");
    expect(shown()).toHaveLength(5);
    await userEvent.click(screen.getByRole("button", { name: "Show only lines with it" }));
    expect(shown()).toEqual(["ERROR"]);
    expect(screen.getByText("2 lines without it")).toBeTruthy();
    expect(screen.getByText("1 of 5 lines")).toBeTruthy();
    expect(screen.getByRole("button", { name: "Download only 1 line" })).toBeTruthy();
    await userEvent.selectOptions(screen.getByLabelText("Lines around each"), "3 lines around");
    expect(shown()).toHaveLength(5);
    expect(container.querySelectorAll("[data-around]")).toHaveLength(4);
    await userEvent.click(screen.getByRole("log"));
    await userEvent.keyboard("m");
    expect(shown()).toHaveLength(5);
    expect(container.querySelectorAll("[data-around]")).toHaveLength(0);
  });

  it("says so when no line has what was looked for", async () => {
    draw([row(1, "alpha")]);
    await userEvent.type(screen.getByLabelText("Find in log"), "zz");
    await userEvent.click(screen.getByRole("button", { name: "Show only lines with it" }));
    expect(screen.getByText("No line has “zz”.")).toBeTruthy();
  });

  it("folds equal lines, counts them, and shows each of them", async () => {
    const { container } = draw([row(1, "wait"), row(2, "wait"), row(3, "wait"), row(4, "up")]);
    const numbers = () => [...container.querySelectorAll(".k")].map((cell) => cell.textContent);
    expect(numbers()).toEqual(["1", "4"]);
    await userEvent.click(screen.getByRole("button", { name: "×3: show each of these lines" }));
    expect(numbers()).toEqual(["1", "2", "3", "4"]);
    await userEvent.click(screen.getByRole("button", { name: /^Fold/ }));
    expect(numbers()).toEqual(["1", "4"]);
    await userEvent.keyboard("v");
    expect(numbers()).toEqual(["1", "2", "3", "4"]);
  });

  it("puts the lines of each step together and folds them, by button and by keys", async () => {
    const lines = ["api", "db", "api"].map((source, at) => ({ ...row(at + 1, `l${at}`), source }));
    const { container } = render(<LogView label="Log" name="x" lines={lines} empty="" />);
    const shown = () => [...container.querySelectorAll(".tx")].map((cell) => cell.textContent);
    const named = [...container.querySelectorAll(".src")];
    expect(named.map((cell) => [cell.textContent, cell.getAttribute("data-tone")])).toEqual([
      ["api", "0"],
      ["db", "1"],
      ["api", "0"],
    ]);
    await userEvent.click(screen.getByRole("button", { name: /lines of each step together/ }));
    expect(shown()).toEqual(["l0", "l2", "l1"]);
    await userEvent.click(screen.getByRole("button", { name: /^api 2 lines/, expanded: true }));
    expect(shown()).toEqual(["l1"]);
    await userEvent.keyboard("z");
    expect(shown()).toEqual(["l0", "l2", "l1"]);
    await userEvent.keyboard("s");
    expect(shown()).toEqual(["l0", "l1", "l2"]);
  });

  it("has a picture of its time that leads to a moment", async () => {
    const lines = Array.from({ length: 40 }, (_, n) => ({
      ...row(n + 1, `line ${n + 1}`),
      at: new Date(Date.UTC(2026, 10, 21, 12, 0, n)).toISOString(),
    }));
    render(<LogView label="Log" name="web" lines={lines} empty="" />);
    const slider = screen.getByRole("slider", { name: "Time in the log" });
    expect(slider.getAttribute("aria-valuetext")).toMatch(/:00:0\d.*, 1 line$/);
    expect(screen.getByRole("button", { pressed: true, name: "Following" })).toBeTruthy();
    fireEvent.change(slider, { target: { value: "48" } });
    expect(screen.getByRole("button", { pressed: false, name: "Paused" })).toBeTruthy();
  });

  it("has lines chosen where all of them are, after a pause in typing", async () => {
    const apply = vi.fn();
    const far = { text: undefined, apply };
    render(<LogView label="Log" name="web" lines={[row(1, "x")]} empty="" far={far} />);
    await userEvent.type(screen.getByLabelText("Find in log"), "late");
    expect(apply).not.toHaveBeenCalled();
    await userEvent.click(screen.getByRole("button", { name: "Show only lines with it" }));
    await vi.waitFor(() => expect(apply).toHaveBeenCalledWith("late"), 2000);
    expect(apply).toHaveBeenCalledOnce();
  });

  it("goes to the line of the address once more when somebody is sent there again", () => {
    const scrolled = vi.spyOn(HTMLElement.prototype, "scrollTo");
    const lines = [row(7, "x")];
    const log = (visit: number) => (
      <LogView label="Log" name="x" lines={lines} empty="" target="7" visit={visit} />
    );
    const { rerender } = render(log(1));
    scrolled.mockClear();
    rerender(log(1));
    expect(scrolled).not.toHaveBeenCalled();
    rerender(log(2));
    expect(scrolled).toHaveBeenCalled();
  });

  it("keeps what somebody reads, counts what came, and shows the newest on F", async () => {
    const all = Array.from({ length: 8 }, (_, at) => row(at + 1, `line ${at + 1}`));
    const kept = (from: number) => (
      <LogView label="Log" name="web" lines={all.slice(from, from + 5)} cut={from} empty="" />
    );
    const { rerender } = render(kept(0));
    await userEvent.keyboard("f");
    rerender(kept(2));
    rerender(kept(3));
    expect(screen.getByText("line 1")).toBeTruthy();
    expect(screen.getByRole("button", { name: "3 new lines" })).toBeTruthy();
    await userEvent.keyboard("f");
    expect(screen.queryByText("line 1")).toBeNull();
    expect(screen.queryByRole("button", { name: /new line/ })).toBeNull();
  });

  it("counts as new what came after a linked line was reached", () => {
    const lines = ["a", "b", "c"].map((id, at) => ({ ...row(at + 1, id), id }));
    const upTo = (end: number) => (
      <LogView label="Log" name="web" lines={lines.slice(0, end)} empty="" target="a" />
    );
    const { rerender } = render(upTo(2));
    expect(screen.queryByRole("button", { name: /new line/ })).toBeNull();
    rerender(upTo(3));
    expect(screen.getByRole("button", { name: "1 new line" })).toBeTruthy();
  });

  it("stays at a line near the end that a link led to, until somebody scrolls to the end", () => {
    const lines = ["a", "b"].map((id, at) => ({ ...row(at + 1, id), id }));
    render(<LogView label="Log" name="web" lines={lines} empty="" target="b" />);
    const log = screen.getByRole("log");
    // jsdom has no heights, so this is the end.
    fireEvent.scroll(log);
    expect(screen.getByRole("button", { pressed: false, name: "Paused" })).toBeTruthy();
    fireEvent.wheel(log, { deltaY: 40 });
    fireEvent.scroll(log);
    expect(screen.getByRole("button", { pressed: true, name: "Following" })).toBeTruthy();
  });

  it("says by the clock when another day begins, and of each line the exact time", () => {
    const on = (day: number, text: string) => ({
      at: new Date(2026, 10, day, 12).toISOString(),
      text,
    });
    const lines = [on(21, "one"), on(21, "two"), on(22, "three")];
    const { container } = render(<LogView label="Log" name="web" lines={lines} empty="" />);
    const days = [...container.querySelectorAll(".mk")].map((mark) =>
      mark.textContent?.replace(",", ""),
    );
    expect(days).toEqual(["Saturday November 21, 2026", "Sunday November 22, 2026"]);
    expect(container.querySelector(".tm")?.getAttribute("title")).toMatch(
      /^Nov 21, 2026, 12:00:00/,
    );
  });

  it("keeps in the file whose line each is", () => {
    const text = "\u001b[31mred\u001b[0m";
    expect(formatLogRow({ at, source: "web", text })).toBe(`${at} web red`);
    expect(formatLogRow({ at, text: "" })).toBe(`${at} `);
  });

  it("has keys for the kind of times and for wrapping", async () => {
    draw([row(1, "first")]);
    await userEvent.keyboard("tw");
    expect(screen.getByRole("button", { name: "times by the clock" })).toBeTruthy();
    const wrap = screen.getByRole("button", { name: "Wrap lines" });
    expect(wrap.getAttribute("aria-pressed")).toBe("false");
  });
});
