import { describe, expect, it } from "vitest";
import { ownPath } from "./SignIn";

describe("where sign-in leads to", () => {
  it("is the page that was wanted", () =>
    expect(ownPath("/deployments/qa/cart?step=api")).toBe("/deployments/qa/cart?step=api"));

  it.each([
    undefined,
    "",
    "https://evil.example",
    "//evil.example",
    "/\\evil.example",
    "javascript:alert(1)",
  ])("is never elsewhere: %s", (next) => expect(ownPath(next)).toBe("/deployments"));
});
