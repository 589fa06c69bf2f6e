import { expect, it } from "vitest";
import { ApiError, type Problem } from "./client";
import { IdempotencyKeys } from "./idempotency";

const keyOf = (once: IdempotencyKeys, content: object) => once.header(content)["Idempotency-Key"];

it("gives the same content the same key until it was answered", () => {
  const once = new IdempotencyKeys();
  const first = keyOf(once, { name: "cart-bug" });
  once.failed(new TypeError("no link"));
  expect(keyOf(once, { name: "cart-bug" })).toBe(first);
  once.failed(new ApiError(409, { title: "taken" } as Problem));
  expect(keyOf(once, { name: "cart-bug" })).not.toBe(first);
});

it.each([
  ["a proxy answers in the server's place", 502, "unreadable"],
  ["the server is in trouble", 500, "internal"],
  ["the first try is still under way", 409, "idempotency_key_under_way"],
])("keeps the key where %s: it may have been made", (_, status, code) => {
  const once = new IdempotencyKeys();
  const first = keyOf(once, { name: "cart" });
  once.failed(new ApiError(status, { title: "x", code } as Problem));
  expect(keyOf(once, { name: "cart" })).toBe(first);
});

it("gives other content another key", () => {
  const once = new IdempotencyKeys();
  expect(keyOf(once, { name: "a" })).not.toBe(keyOf(once, { name: "b" }));
});
