import { expect, it } from "vitest";
import { auditQuery, exportAddress, readAuditSearch } from "./search";

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
