import { describe, expect, it } from "vitest";
import { parseAnsi, plainText } from "./ansi";

describe("a log line", () => {
  it("keeps colour as a class and nothing else", () => {
    expect(parseAnsi("\u001b[31mred\u001b[0m plain")).toEqual([
      { text: "red", cls: "a1" },
      { text: " plain", cls: "" },
    ]);
  });

  it("carries bold and colour together and takes each back", () => {
    expect(parseAnsi("\u001b[1;32mok\u001b[22m green\u001b[39m none")).toEqual([
      { text: "ok", cls: "a2 ab" },
      { text: " green", cls: "a2" },
      { text: " none", cls: "" },
    ]);
  });

  it("does not read the arguments of 256 and true colours as codes", () => {
    expect(parseAnsi("\u001b[38;5;31mx\u001b[38;2;1;4;31my")).toEqual([
      { text: "x", cls: "" },
      { text: "y", cls: "" },
    ]);
  });

  it("drops cursor moves, titles and links of a hostile program", () => {
    const line = "a\u001b[2J\u001b[10;10Hb\u001b]0;title\u0007c\u001b]8;;http://evil\u001b\\d";
    expect(plainText(line)).toBe("abcd");
  });

  it("shows control and bidirectional characters instead of obeying them", () => {
    expect(plainText("a\rb\u202ec")).toBe("a\u240db<U+202E>c");
    expect(plainText("\u061ca\u200bb\u2028c")).toBe("<U+061C>a<U+200B>b<U+2028>c");
  });

  it("marks masked secrets", () => {
    expect(parseAnsi("password=[secret]!")).toEqual([
      { text: "password=", cls: "" },
      { text: "[secret]", cls: "se" },
      { text: "!", cls: "" },
    ]);
  });

  it("keeps HTML as text", () => {
    const line = '<img src=x onerror="alert(1)">';
    expect(parseAnsi(line)).toEqual([{ text: line, cls: "" }]);
  });
});
