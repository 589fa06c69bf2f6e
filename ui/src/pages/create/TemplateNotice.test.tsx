import { cleanup, render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, expect, it, vi } from "vitest";
import type { Schemas } from "@/api/client";
import { TemplateNotice, whyNoTemplate } from "./TemplateNotice";

afterEach(cleanup);

const release = { name: "release" } as Schemas["Template"];
const read = (data?: Schemas["Template"][], isError = false) => ({
  data,
  isError,
  error: isError ? new TypeError("x") : null,
  refetch: vi.fn(),
});

it("nothing is created with defaults in place of a template that is not there", () => {
  const why = (wanted: string | undefined, query = read([release])) =>
    whyNoTemplate({ wanted, query });
  expect(why(undefined)).toBeUndefined();
  expect(why("release")).toBeUndefined();
  expect(why("release", read([release], true))).toBeUndefined();
  expect(why("gone")).toMatch(/no template gone/);
  expect(why("release", read())).toMatch(/being read/);
  expect(why("release", read(undefined, true))).toMatch(/could not be read/);
});

it("says that the template is gone or unread, with a way on", async () => {
  const without = vi.fn();
  const { rerender } = render(
    <TemplateNotice wanted="gone" query={read([release])} without={without} />,
  );
  expect(screen.getByRole("alert").textContent).toMatch(/no template gone/);
  await userEvent.click(screen.getByRole("button", { name: "Continue without it" }));
  expect(without).toHaveBeenCalledTimes(1);
  const failed = read(undefined, true);
  rerender(<TemplateNotice wanted="release" query={failed} without={without} />);
  await userEvent.click(screen.getByRole("button", { name: "Try again" }));
  expect(failed.refetch).toHaveBeenCalledTimes(1);
  screen.getByRole("button", { name: "Continue without it" });
  rerender(<TemplateNotice wanted="release" query={read([release])} without={without} />);
  expect(screen.queryByRole("alert")).toBeNull();
});
