import { expect, it } from "vitest";
import type { Schemas } from "@/api/client";
import { countUnread, groupNotices } from "./groupNotices";

const notice = (minute: number, more: Partial<Schemas["PersonNotice"]> = {}) =>
  ({
    id: `at-${minute}`,
    kind: "degraded",
    subject: "cart in qa is degraded",
    link: "/d/1",
    at: new Date(Date.UTC(2026, 10, 28, 3, minute)).toISOString(),
    read: false,
    ...more,
  }) as Schemas["PersonNotice"];

const idsOf = (...all: Schemas["PersonNotice"][]) => groupNotices(all).map(({ ids }) => ids);

it("what a flapping service says eight times is one notice, the newest", () => {
  const all = [50, 45, 40, 35, 30, 25, 20, 15].map((minute) => notice(minute));
  const [only, ...others] = groupNotices(all);
  expect(others).toEqual([]);
  expect([only?.newest.id, only?.ids.length]).toEqual(["at-50", 8]);
});

it("others, read ones, later ones and what a person wrote stay by themselves", () => {
  expect(idsOf(notice(9), notice(8, { link: "/d/2" }), notice(7, { kind: "failed" }))).toHaveLength(
    3,
  );
  expect(idsOf(notice(9), notice(8, { read: true }))).toEqual([["at-9"], ["at-8"]]);
  expect(idsOf(notice(90), notice(29))).toHaveLength(2);
  expect(idsOf(notice(9, { by: "aiko" }), notice(8, { by: "aiko" }))).toHaveLength(2);
});

it("equal notices that were not read are counted once, and read ones not at all", () => {
  const flapping = [9, 8, 7].map((minute) => notice(minute));
  expect(countUnread(flapping)).toBe(1);
  expect(countUnread([...flapping, notice(6, { kind: "failed" })])).toBe(2);
  expect(countUnread([notice(9, { read: true })])).toBe(0);
});
