import { expect, it } from "vitest";
import type { Deployment } from "@/api/client";
import { describeVisitors, othersOf, visitorsOf } from "./visitors";

const now = Date.parse("2026-11-27T10:00:00Z");
const ago = (seconds: number) => new Date(now - seconds * 1000).toISOString();

const deployment = {
  visitors: [
    { kind: "person", name: "lena", visitors: 1, last_seen: ago(12) },
    { kind: "person", name: "omar", you: true, visitors: 1, last_seen: ago(20) },
    { kind: "count", visitors: 3, last_seen: ago(70) },
    { kind: "guest", name: "customer", visitors: 1, last_seen: ago(400) },
  ],
} as Deployment;

it("names who is there, and forgets who left since", () => {
  expect(describeVisitors(visitorsOf(deployment, now), now)).toBe(
    "lena, last request 12 s ago; you, last request 20 s ago; 3 visitors, last request 1 min ago",
  );
});

it("lets nobody stand in their own way", () => {
  expect(othersOf(deployment, now).map(({ kind }) => kind)).toEqual(["person", "count"]);
  expect(othersOf({} as Deployment, now)).toEqual([]);
});
