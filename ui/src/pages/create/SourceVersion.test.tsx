import { cleanup, render, screen } from "@testing-library/react";
import { afterEach, expect, it } from "vitest";
import type { Schemas } from "@/api/client";
import { SourceVersion } from "./SourceVersion";

afterEach(cleanup);

const was = (more: Partial<Schemas["CloneService"]> = {}) =>
  ({ step: "web", source_tag: "v1", newest_tag: "v1", ...more }) as Schemas["CloneService"];
const none = () => undefined;

it("says nothing of what stays as it is", () => {
  const { container } = render(<SourceVersion was={was()} now="v1" choose={none} />);
  expect(container.textContent).toBe("");
});

it("offers what is newer, without saying that the rest stays", () => {
  const newer = was({ branch: "main", newest_of_branch: "main-2" });
  const { container } = render(<SourceVersion was={newer} now="v1" choose={none} />);
  expect(screen.getByRole("button", { name: "Take the newest of main: main-2" })).toBeTruthy();
  expect(container.textContent).not.toContain("→");
});

it("says what becomes of what is changed, and leads back", () => {
  const { container } = render(<SourceVersion was={was()} now="v2" choose={none} />);
  expect(container.textContent).toContain("v1 → v2");
  expect(screen.getByRole("button", { name: "Keep v1" })).toBeTruthy();
});
