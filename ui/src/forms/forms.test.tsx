import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { act, cleanup, render, screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { useEffect, useState } from "react";
import { afterEach, describe, expect, it, vi } from "vitest";
import { ApiError } from "@/api/client";
import { Toasts } from "@/components/Toast";
import { readListSearch } from "@/lists/listSearch";
import { ConfirmDelete } from "./ConfirmDelete";
import { CheckField, TextField } from "./Fields";
import { FormSheet } from "./FormSheet";
import { nameProblem } from "./NameField";
import { refusals, useForm } from "./useForm";
import { useSaved } from "./useSaved";

afterEach(cleanup);

const problem = (status: number, more: object) =>
  new ApiError(status, {
    type: "about:blank",
    title: "Refused",
    status,
    code: "invalid",
    request_id: "req-1",
    ...more,
  });

function within(children: React.ReactNode) {
  render(
    <QueryClientProvider client={new QueryClient()}>
      <Toasts>{children}</Toasts>
    </QueryClientProvider>,
  );
}

type Values = { name: string; domain: string };

function Sheet({ save, close }: { save: (values: Values) => Promise<unknown>; close: () => void }) {
  const form = useForm({ name: "qa", domain: "" }, { save, saved: close });
  return (
    <FormSheet title="New" form={form} onClose={close}>
      <TextField form={form} name="domain" label="Domain" />
    </FormSheet>
  );
}

function Named({ title }: { title: string }) {
  const form = useForm({}, { save: async () => {}, saved: () => {} });
  return (
    <FormSheet title={title} form={form} onClose={() => {}}>
      {null}
    </FormSheet>
  );
}

/** A sheet whose save says so and closes, as those of the pages do. */
function Saved({ save, close }: { save: () => Promise<unknown>; close: () => void }) {
  const saved = useSaved([], close);
  const form = useForm(
    { domain: "" },
    { save, saved: () => saved("qa", { changed: true, created: false }) },
  );
  return (
    <FormSheet title="Change" form={form} onClose={close}>
      <TextField form={form} name="domain" label="Domain" />
    </FormSheet>
  );
}

/** A sheet that can be taken away, as the Back of a browser does. */
function Left({ save, close }: { save: () => Promise<unknown>; close: () => void }) {
  const [gone, setGone] = useState(false);
  useEffect(() => {
    const go = () => setGone(true);
    addEventListener("popstate", go);
    return () => removeEventListener("popstate", go);
  }, []);
  return gone ? <p>another page</p> : <Saved save={save} close={close} />;
}

/** An answer that comes when the test says so. */
function later() {
  let answer: (value: unknown) => void = () => {};
  let refuse: (error: unknown) => void = () => {};
  const promise = new Promise<unknown>((resolve, reject) => {
    answer = resolve;
    refuse = reject;
  });
  return { promise, answer, refuse };
}

describe("refusals of a form", () => {
  it("go to the field they name, however deep, and the rest stands below with its request", () => {
    const said = refusals(
      problem(400, {
        problems: [
          { field: "placement.required.0", code: "x", message: "No label." },
          { field: "elsewhere", code: "x", message: "No." },
        ],
      }),
      ["placement", "name"],
    );
    expect(said.errors).toEqual({ placement: "No label." });
    expect(said.rest).toMatchObject({ message: "elsewhere: No.", request: "req-1" });
  });

  it("of the network are said as such", () => {
    expect(refusals(new TypeError("x"), ["name"]).rest?.message).toMatch(/did not answer/);
  });
});

describe("a form sheet", () => {
  it("says a refusal at its field, and keeps what was typed", async () => {
    const save = vi.fn().mockRejectedValue(problem(400, { field: "domain", detail: "No domain." }));
    within(<Sheet save={save} close={() => {}} />);
    await userEvent.type(screen.getByLabelText("Domain"), "lab{Control>}{Enter}{/Control}");
    await screen.findByText("No domain.");
    expect(screen.getByLabelText("Domain").getAttribute("aria-invalid")).toBe("true");
    expect((screen.getByLabelText("Domain") as HTMLInputElement).value).toBe("lab");
  });

  it("says that a new name was made meanwhile by somebody else", async () => {
    const save = vi.fn().mockRejectedValue(problem(412, {}));
    within(<Sheet save={save} close={() => {}} />);
    await userEvent.click(screen.getByRole("button", { name: /Save/ }));
    await screen.findByText(/Somebody else created one with this name/);
  });

  it("asks before what was typed is lost, and not when nothing was", async () => {
    const close = vi.fn();
    within(<Sheet save={vi.fn()} close={close} />);
    await userEvent.type(screen.getByLabelText("Domain"), "x");
    await userEvent.click(screen.getAllByRole("button", { name: "Close" }).at(-1) as HTMLElement);
    expect(close).not.toHaveBeenCalled();
    await userEvent.click(await screen.findByRole("button", { name: "Leave" }));
    expect(close).toHaveBeenCalledTimes(1);
  });
});

it("copies the name of what is changed, and no other title", () => {
  const sheet = (title: string) => <Named title={title} />;
  within(
    <>
      {sheet("qa-eu")}
      {sheet("Add a rule")}
    </>,
  );
  expect(screen.getAllByRole("button", { name: "Copy the name", hidden: true })).toHaveLength(1);
});

describe("a form sheet that saves", () => {
  it("stays until it is answered, so that a refusal is seen", async () => {
    const close = vi.fn();
    const { promise, refuse } = later();
    within(<Sheet save={() => promise} close={close} />);
    const keys = "lab{Control>}{Enter}{/Control}{Escape}";
    await userEvent.type(screen.getByLabelText("Domain"), keys);
    await userEvent.click(screen.getAllByRole("button", { name: "Close" }).at(-1) as HTMLElement);
    refuse(problem(400, { field: "domain", detail: "No domain." }));
    await screen.findByText("No domain.");
    expect(screen.queryByRole("button", { name: "Leave" })).toBeNull();
    expect(close).not.toHaveBeenCalled();
  });

  it("says what came of it and closes nothing else when it is gone by then", async () => {
    const close = vi.fn();
    const { promise, answer } = later();
    within(<Left save={() => promise} close={close} />);
    await userEvent.type(screen.getByLabelText("Domain"), "lab{Control>}{Enter}{/Control}");
    act(() => void dispatchEvent(new PopStateEvent("popstate")));
    await screen.findByText("another page");
    answer({});
    await screen.findByText(/qa/);
    expect(close).not.toHaveBeenCalled();
  });
});

describe("a deletion", () => {
  it("that is refused lists who uses the thing, and offers no second try", async () => {
    const remove = vi.fn().mockRejectedValue(problem(409, { users: ["project shop"] }));
    within(
      <ConfirmDelete name="api" remove={remove} done={() => {}} close={() => {}}>
        what goes
      </ConfirmDelete>,
    );
    await userEvent.click(screen.getByRole("button", { name: "Delete" }));
    await screen.findByText("project shop");
    await waitFor(() => expect(screen.queryByRole("button", { name: "Delete" })).toBeNull());
  });
});

describe("addresses and names", () => {
  it("keep only texts, digits too, and whether something is being added", () => {
    expect(readListSearch({ q: 42, add: "true", x: { y: 1 }, kind: "" })).toEqual({
      q: "42",
      add: true,
    });
  });

  it("a name that is taken or breaks the rule says so", () => {
    expect(nameProblem("", [])).toMatch(/such as/);
    expect(nameProblem("Not A Name", [])).toMatch(/small letters/);
    expect(nameProblem("qa", ["qa"])).toMatch(/taken/);
    expect(nameProblem("qa-eu", ["qa"])).toBeUndefined();
  });
});

describe("a sheet of what is not this person's to change", () => {
  function Read() {
    const form = useForm({ domain: "qa", on: true }, { save: async () => {}, saved: () => {} });
    return (
      <FormSheet title="Read" form={form} onClose={() => {}} locked="Mira Okafor can give Admin.">
        <TextField form={form} name="domain" label="Domain" />
        <CheckField form={form} name="on" label="On" />
      </FormSheet>
    );
  }

  it("says who can above its fields, and lets nobody type what could not be saved", async () => {
    within(<Read />);
    const field = await screen.findByLabelText<HTMLInputElement>("Domain");
    await userEvent.type(field, "x");
    await userEvent.click(screen.getByLabelText("On"));
    expect(field.value).toBe("qa");
    expect(screen.getByLabelText<HTMLInputElement>("On").checked).toBe(true);
    expect(screen.getByText("Mira Okafor can give Admin.")).toBeTruthy();
  });
});
