import { expect, it } from "vitest";
import { looks, standingOf } from "./state";

const change = { kind: "service", name: "api", action: "changed", changes: [] } as never;

it("is in step only while nothing was changed here", () => {
  expect(looks[standingOf({ status: "synced", drift: [] })]).toBe("ready");
  expect(looks[standingOf({ status: "synced", drift: [change] })]).toBe("warn");
  expect(standingOf({ status: "waiting", drift: [change] })).toBe("waiting");
});
