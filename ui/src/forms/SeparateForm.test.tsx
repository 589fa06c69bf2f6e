import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { useState } from "react";
import { afterEach, expect, it, vi } from "vitest";
import { Field } from "@/components/Field";
import { FormSheet } from "./FormSheet";
import { SeparateForm } from "./SeparateForm";
import { useForm } from "./useForm";

afterEach(cleanup);

type Acts = { save: () => Promise<unknown>; close: () => void; apart: (typed: string) => void };

/** A sheet with one field, which is saved apart from it: with one, Enter submits a form by itself. */
function Sheet({ save, close, apart }: Acts) {
  const form = useForm({}, { save, saved: close });
  const [typed, setTyped] = useState("");
  return (
    <FormSheet title="qa" form={form} onClose={close} alsoDirty={typed !== ""}>
      <SeparateForm act={() => apart(typed)}>
        <Field label="Token" value={typed} onChange={(event) => setTyped(event.target.value)} />
      </SeparateForm>
    </FormSheet>
  );
}

it("Enter in fields that are saved apart does their act, and leaves the sheet's form alone", async () => {
  const acts = { save: vi.fn(), close: vi.fn(), apart: vi.fn() };
  const client = new QueryClient();
  render(
    <QueryClientProvider client={client}>
      <Sheet {...acts} />
    </QueryClientProvider>,
  );
  const keys = "robot{Enter}{Control>}{Enter}{/Control}{Escape}";
  await userEvent.type(screen.getByLabelText("Token"), keys);
  expect(acts.apart.mock.calls).toEqual([["robot"], ["robot"]]);
  expect(acts.save).not.toHaveBeenCalled();
  await screen.findByRole("button", { name: "Leave" });
  expect(acts.close).not.toHaveBeenCalled();
});
