import { cleanup, fireEvent, render, screen, within } from "@testing-library/react";
import { afterEach, expect, it, vi } from "vitest";
import type { Doc } from "../model/document";
import { setField } from "../model/edit";
import type { DraftConflict } from "../session/conflict";
import { MergeSheet } from "./MergeSheet";

const base: Doc = {
  steps: [{ key: "web", service: { name: "web", env: { A: "0" }, files: [file("one\ntwo")] } }],
  comments: [],
};

function file(content: string) {
  return { path: "/etc/web.conf", content };
}

function meet(mine: Doc, theirs: Doc) {
  const onResolve = vi.fn();
  const clash: DraftConflict = { kind: "window", base, theirs, by: "", number: 2 };
  render(<MergeSheet clash={clash} doc={mine} onClose={() => {}} onResolve={onResolve} />);
  return onResolve;
}

afterEach(cleanup);

it("puts nothing together before somebody chose for each field that both changed", async () => {
  const env = (value: string) => setField(base, "web", "service.env.A", value);
  const resolved = meet(env("mine"), env("theirs"));
  const act = screen.getByRole("button", { name: "Put both together" });
  expect(screen.getAllByRole("radio").some((one) => (one as HTMLInputElement).checked)).toBe(false);
  fireEvent.click(act);
  expect(resolved).not.toHaveBeenCalled();
  fireEvent.click(screen.getByRole("radio", { name: "Take theirs for web › variable A" }));
  fireEvent.click(act);
  expect(resolved).toHaveBeenCalledWith({ "web service.env.A": "theirs" });
});

it("shows all of a long value when it is asked for", () => {
  const env = (value: string) => setField(base, "web", "service.env.A", value);
  meet(env(`${"m".repeat(400)}the end`), env("theirs"));
  expect(screen.queryByText(/the end/)).toBeNull();
  fireEvent.click(screen.getByRole("button", { name: "Show all 407 letters" }));
  expect(screen.getByText(/the end/)).toBeDefined();
});

it("shows the first lines of a text of many, and all when it is asked for", () => {
  const env = (value: string) => setField(base, "web", "service.env.A", value);
  const lines = Array.from({ length: 20 }, (_, i) => `line ${i}`);
  meet(env(lines.join("\n")), env("theirs"));
  expect(screen.queryByText("line 19")).toBeNull();
  fireEvent.click(screen.getByRole("button", { name: /^Show all/ }));
  expect(screen.getByText("line 19")).toBeDefined();
});

it("shows a file of several lines by the lines that differ", () => {
  const files = (content: string) => setField(base, "web", "service.files", [file(content)]);
  meet(files("one\nmine"), files("one\ntheirs"));
  const row = screen.getByRole("row", { name: /web.conf/ });
  expect(within(row).getAllByText("two").length).toBe(3);
  expect(within(row).getByText("theirs")).toBeDefined();
});
