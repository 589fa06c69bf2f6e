import { expect, it } from "vitest";
import { auditQuery, exportAddress, isOlder, readAuditSearch } from "./search";

it("keeps what it knows of an address and drops the rest", () => {
  expect(readAuditSearch({ who: "mira", result: "never", since: "yesterday", x: 1 })).toEqual({
    who: "mira",
  });
});

it("includes the last day whole", () => {
  const { since, until } = auditQuery({ since: "2026-11-20", until: "2026-11-20" });
  expect(new Date(until ?? "").getTime() - new Date(since ?? "").getTime()).toBe(86_400_000);
});

it("exports what is shown", () => {
  expect(exportAddress({ who: "mira", result: "refused" }, "jsonl")).toBe(
    "/api/v1/audit/export?format=jsonl&actor=mira&result=refused",
  );
});

it("knows whether reading back would find an entry", () => {
  const entries = [{ id: "120" }, { id: "99" }];
  expect([isOlder("100", entries), isOlder("99", entries), isOlder("7", entries)]).toEqual([
    false,
    false,
    true,
  ]);
});
