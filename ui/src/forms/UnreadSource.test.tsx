import { cleanup, render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, expect, it, vi } from "vitest";
import { ApiError } from "@/api/client";
import { CheckList } from "@/pages/people/CheckList";
import { SelectField } from "./Fields";
import type { Form } from "./useForm";

afterEach(cleanup);

const error = new ApiError(503, {
  type: "about:blank",
  title: "The database is away.",
  status: 503,
  code: "busy",
  request_id: "req-9",
});
const what = "The teams could not be read.";

const form: Form = {
  values: { team: "" },
  errors: {},
  known: new Map(),
  dirty: false,
  busy: false,
  set: () => {},
  submit: () => {},
  side: () => {},
  restart: () => {},
};

it.each(["check boxes", "a select"])("%s without choices say why, and ask again", async (kind) => {
  const source = { what, of: { error, isFetching: false, refetch: vi.fn() } };
  render(
    kind === "a select" ? (
      <SelectField form={form} name="team" label="Team" options={[]} source={source} />
    ) : (
      <CheckList label="Team" all={[]} chosen={[]} set={() => {}} source={source} />
    ),
  );
  expect(screen.getByRole("alert").textContent).toBe(`${what} The database is away.`);
  screen.getByText("request req-9");
  await userEvent.click(screen.getByRole("button", { name: "Try again" }));
  expect(source.of.refetch).toHaveBeenCalledOnce();
});
