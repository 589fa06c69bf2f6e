// @vitest-environment jsdom
import { render } from "@testing-library/react";
import { createElement } from "react";
import { expect, it } from "vitest";
import { MiddleTruncate, splitParts } from "./MiddleTruncate";

it.each([
  [["feat-51d0e7b"], 4, [["feat"], ["-51d0e7b"]]],
  [
    ["a", "bcd", "e"],
    2,
    [
      ["a", "b", ""],
      ["", "cd", "e"],
    ],
  ],
  [["ab"], 2, [["ab"], [""]]],
])("%j at %s", (parts, at, both) => expect(splitParts(parts, at)).toEqual(both));

it("keeps the last eight characters in a piece of their own, which no room takes away", () => {
  const { container } = render(
    createElement(MiddleTruncate, { text: "feat-cart-redesign-51d0e7b" }),
  );
  expect(container.querySelector(".tail")?.textContent).toBe("-51d0e7b");
  expect(container.textContent).toBe("feat-cart-redesign-51d0e7b");
  const short = render(createElement(MiddleTruncate, { text: "v1.2.0" })).container;
  expect(short.querySelector(".tail")).toBeNull();
});
