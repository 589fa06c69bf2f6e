import { expect, it } from "vitest";
import { ApiError, type Problem } from "./client";
import { Once } from "./once";

const keyOf = (once: Once, content: object) => once.header(content)["Idempotency-Key"];

it("gives the same content the same key until it was answered", () => {
  const once = new Once();
  const first = keyOf(once, { name: "cart-bug" });
  once.failed(new TypeError("no link"));
  expect(keyOf(once, { name: "cart-bug" })).toBe(first);
  once.failed(new ApiError(409, { title: "taken" } as Problem));
  expect(keyOf(once, { name: "cart-bug" })).not.toBe(first);
});

it("gives other content another key", () => {
  const once = new Once();
  expect(keyOf(once, { name: "a" })).not.toBe(keyOf(once, { name: "b" }));
});
