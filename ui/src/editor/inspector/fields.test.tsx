import { cleanup, render, screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { useState } from "react";
import { afterEach, expect, it, vi } from "vitest";
import { Shell } from "./fields";
import PluginForm from "./PluginForm";
import { Pick } from "./ReferencePicker";
import { NumberInput, TextInput } from "./TextInput";

// Without a pause behind each key.
const user = userEvent.setup({ delay: null });
afterEach(cleanup);

function Field({ first, number }: { first: unknown; number?: boolean }) {
  const [value, setValue] = useState(first);
  const Control = number ? NumberInput : TextInput;
  return (
    <>
      <label htmlFor="one">Address</label>
      <Control id="one" label="Address" value={value as string} onChange={setValue} />
      <output>{JSON.stringify(value)}</output>
    </>
  );
}

const held = () => JSON.parse(screen.getByRole("status").textContent || "null");

it("lets a reference be typed, with what comes behind it", async () => {
  render(<Field first="" />);
  await user.type(screen.getByLabelText("Address"), "${{{{ services.web.url }}/path");
  expect(held()).toBe("${{ services.web.url }}/path");
  expect(document.activeElement).toBe(screen.getByLabelText("Address"));
});

it("shows a reference as one once the field is left, and as text when it is pressed", async () => {
  render(<Field first="${{ services.web.url }}" />);
  await user.tab();
  await user.keyboard("{Enter}");
  const field = screen.getByLabelText("Address");
  expect(field.tagName).toBe("INPUT");
  expect(document.activeElement).toBe(field);
  await user.keyboard("{Backspace}");
  expect(held()).toBe("${{ services.web.url }");
  await user.keyboard("}");
  await user.tab();
  expect(screen.getByLabelText("Address").tagName).toBe("BUTTON");
});

it("keeps the focus in a field that is cleared", async () => {
  render(<Field first="${{ secrets.KEY }}" />);
  await user.click(screen.getByRole("button", { name: "Clear Address" }));
  expect(document.activeElement).toBe(screen.getByLabelText("Address"));
});

it("shows what is no text without failing", () => {
  render(<Field first={{ a: 1 }} />);
  expect(screen.getByLabelText<HTMLInputElement>("Address").value).toBe('{"a":1}');
});

it("takes a number, or a reference in its place, in one field", async () => {
  render(<Field first={undefined} number />);
  const field = screen.getByLabelText("Address");
  await user.type(field, "80");
  expect(held()).toBe(80);
  await user.clear(field);
  await user.type(field, "${{{{ services.web.port }}");
  expect(document.activeElement).toBe(field);
  expect(held()).toBe("${{ services.web.port }}");
});

it("keeps a plugin's field while somebody types in it", async () => {
  function Form() {
    const [values, setValues] = useState<Record<string, unknown>>({ on: "${{ secrets.X }}" });
    return (
      <PluginForm
        schema={{ properties: { port: { type: "integer" }, on: { type: "boolean" } } }}
        values={values}
        problems={[]}
        offersFor={() => []}
        onChange={(path, value) =>
          setValues((all) => ({ ...all, [path.split(".")[2] ?? ""]: value }))
        }
      />
    );
  }
  render(<Form />);
  const port = screen.getByLabelText("port");
  await user.type(port, "${{{{ services.web.port }}");
  expect(document.activeElement).toBe(port);
  await user.click(screen.getByLabelText("on"));
  await user.clear(screen.getByLabelText("on"));
  expect(screen.getByLabelText("on").tagName).toBe("INPUT");
  await user.tab();
  expect(screen.getByLabelText("on").tagName).toBe("SELECT");
});

it("takes nothing from a closed list, whatever key is pressed", async () => {
  const taken: string[] = [];
  render(
    <Pick label="Wait" first="…" onChoose={(one) => taken.push(one)}>
      {() => ["a", "b"].map((one) => <option key={one}>{one}</option>)}
    </Pick>,
  );
  const list = screen.getByLabelText<HTMLSelectElement>("Wait");
  let opened = 0;
  list.showPicker = () => {
    opened++;
  };
  list.focus();
  await user.keyboard("{ArrowDown}b{Enter}");
  expect([taken, opened]).toEqual([[], 3]);
  await user.selectOptions(list, "b");
  expect(taken).toEqual(["b"]);
});

it("puts a chosen reference where the caret was, and makes the list of them only then", async () => {
  const chosen: unknown[] = [];
  const offers = vi.fn(() => [
    { group: "db", text: "${{ services.db.host }}", label: "db › host", type: "text" as const },
  ]);
  const [value, label] = ["a:b", "Address"];
  render(
    <Shell
      label={label}
      path="service.env.A"
      problems={[]}
      offers={offers}
      onRefer={(ref, at) => chosen.push([ref, at])}
    >
      {(id) => <TextInput id={id} label={label} value={value} onChange={() => {}} />}
    </Shell>,
  );
  expect(offers).not.toHaveBeenCalled();
  const menu = screen.getByLabelText<HTMLSelectElement>("Reference for Address");
  await user.selectOptions(menu, await shown(menu));
  const field = screen.getByLabelText<HTMLInputElement>("Address");
  await user.click(field);
  field.setSelectionRange(2, 2);
  await user.selectOptions(menu, await shown(menu));
  expect(chosen).toEqual([
    ["${{ services.db.host }}", undefined],
    ["${{ services.db.host }}", 2],
  ]);
});

async function shown(menu: HTMLSelectElement): Promise<HTMLElement> {
  await user.click(menu);
  return within(menu).getByText("db › host");
}

it("shows beside a field what is wrong with a part of it", () => {
  const at = (field: string) => ({ field, code: "range", message: field });
  const problems = ["service.ready.http.port", "service.ready_no", "service.ready[0]"].map(at);
  render(
    <Shell label="Ready" path="service.ready" problems={problems}>
      {(id) => <input id={id} />}
    </Shell>,
  );
  expect(screen.queryByText("service.ready.http.port")).not.toBeNull();
  expect(screen.queryByText("service.ready[0]")).not.toBeNull();
  expect(screen.queryByText("service.ready_no")).toBeNull();
});
