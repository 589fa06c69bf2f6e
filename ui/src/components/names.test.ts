import { describe, expect, it } from "vitest";
import {
  isName,
  nameFromTag,
  shortenMiddle,
  shortImage,
  splitAround,
  splitEnd,
  thumbprint,
} from "./names";

describe("names", () => {
  it("keeps the last eight characters of a tag", () =>
    expect(shortenMiddle("feat-cart-redesign-51d0e7b")).toBe("feat-cart…-51d0e7b"));

  it("keeps them too, where the rest gives way by the room there is", () => {
    expect(splitEnd("api feat-cart-51d0e7b")).toEqual(["api feat-cart", "-51d0e7b"]);
    expect(splitEnd("v1.2")).toEqual(["", "v1.2"]);
  });

  it("leaves short tags alone", () => expect(shortenMiddle("main-b70e2f1")).toBe("main-b70e2f1"));

  it("groups a thumbprint by four", () =>
    expect(thumbprint("sha256:365d86006dc5")).toBe("365D 8600 6DC5"));

  it.each([
    ["feat-cart-redesign-51d0e7b", "feat-cart-redesign"],
    ["v1.2.0", "v1-2-0"],
    ["Features/ABC_x", "features-abc-x"],
  ])("suggests a name for %s", (tag, name) => expect(nameFromTag(tag)).toBe(name));

  it.each(["a", "cart-redesign", "a".repeat(40)])("takes %s", (name) =>
    expect(isName(name)).toBe(true),
  );

  it.each(["", "-a", "a-", "A", "a_b", "a.b", "a".repeat(41)])("refuses “%s”", (name) =>
    expect(isName(name)).toBe(false),
  );

  it("finds each match without regard to case", () =>
    expect(splitAround("Cart-cart", "cart")).toEqual(["", "Cart", "-", "cart", ""]));

  it.each([
    ["shop/api", "shop/api"],
    ["127.0.0.1:41253/shop/api", "…/shop/api"],
    ["registry.example/shop-catalogue", "…/shop-catalogue"],
    ["registry.example/a-very-long-team-name/api", "…/api"],
  ])("shortens the image %s", (image, short) => expect(shortImage(image)).toBe(short));
});
