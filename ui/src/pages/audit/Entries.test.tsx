import { cleanup, render, screen } from "@testing-library/react";
import { afterEach, expect, it } from "vitest";
import type { Schemas } from "@/api/client";
import { Entries } from "./Entries";

afterEach(cleanup);

const entry = (id: string, day: number, hour: number) =>
  ({
    id,
    at: new Date(2026, 10, day, hour).toISOString(),
    actor: "mira",
    action: "sign in",
    object: "",
    result: "ok",
  }) as Schemas["AuditEntry"];

it("says each day once, above its first entry", () => {
  const entries = [entry("1", 22, 9), entry("2", 21, 23), entry("3", 21, 1)];
  const { container } = render(<Entries entries={entries} setOpen={() => {}} admin />);
  const days = screen.getAllByRole("rowheader").map((one) => one.textContent);
  expect(days).toHaveLength(2);
  expect(days[0]).toMatch(/22.*2026/);
  const rows = [...container.querySelectorAll("tbody tr")].map((row) => row.className || "entry");
  expect(rows).toEqual(["day", "entry", "day", "entry", "entry"]);
});
