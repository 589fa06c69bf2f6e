// @vitest-environment jsdom
import { expect, it } from "vitest";
import { inertStyles, withInertStyles } from "./terminalStyles";

it("gives the terminal no style element, whose text the page's policy would refuse", () => {
  const written: string[] = [];
  class Sheet {
    replaceSync(text: string) {
      written.push(text);
    }
  }
  Object.assign(globalThis, { CSSStyleSheet: Sheet });
  Object.assign(document, { adoptedStyleSheets: [] });
  const view = inertStyles(document);
  const style = view.createElement("style");
  document.body.append(style);
  style.textContent = ".xterm { color: red }";
  expect(document.querySelector("style")).toBeNull();
  expect(document.body.textContent).not.toContain("xterm");
  expect(written).toEqual([".xterm { color: red }"]);
  expect(document.adoptedStyleSheets).toHaveLength(1);
  style.remove();
  expect(document.adoptedStyleSheets).toHaveLength(0);
  expect(view.createElement("div").tagName).toBe("DIV");
  expect(view instanceof Document).toBe(true);
});

it("does the same in the real document, and only as long as the work takes", () => {
  Object.assign(globalThis, { CSSStyleSheet: class {} });
  Object.assign(document, { adoptedStyleSheets: [] });
  const work = () => {
    expect(document.createElement("style").tagName).toBe("SPAN");
    expect(document.createElement("div").tagName).toBe("DIV");
    throw new Error("it broke");
  };
  expect(() => withInertStyles(document, work)).toThrow("it broke");
  expect(document.createElement("style").tagName).toBe("STYLE");
});
