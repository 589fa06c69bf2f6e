import { cleanup, render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { useState } from "react";
import { afterEach, expect, it } from "vitest";
import { entriesKind } from "./entries";
import PluginForm from "./PluginForm";

const user = userEvent.setup({ delay: null });
afterEach(cleanup);

function Form({ schema, first = {} }: { schema: Record<string, unknown>; first?: object }) {
  const [values, setValues] = useState(first as Record<string, unknown>);
  return (
    <>
      <PluginForm
        schema={schema}
        values={values}
        problems={[]}
        offersFor={() => []}
        onChange={(path, value) =>
          setValues((all) => ({ ...all, [path.split(".")[2] ?? ""]: value }))
        }
      />
      <output>{JSON.stringify(values)}</output>
    </>
  );
}
const held = () => JSON.parse(screen.getByRole("status").textContent || "null");
const add = () => user.click(screen.getByRole("button", { name: "Add one" }));
const within = (property: object) => ({ properties: { it: property } });

it("takes a list entry by entry", async () => {
  render(<Form schema={within({ type: "array", items: { type: "integer" } })} />);
  await add();
  await user.type(screen.getByLabelText("it, 1"), "12");
  await add();
  await user.type(screen.getByLabelText("it, 2"), "7");
  expect(held()).toEqual({ it: [12, 7] });
  await user.click(screen.getByRole("button", { name: "Remove it, 1" }));
  await user.click(screen.getByRole("button", { name: "Remove it, 1" }));
  expect(held()).toEqual({});
});

it("takes values by name, those that are declared and others", async () => {
  const property = {
    type: "object",
    properties: { loud: { type: "boolean" } },
    additionalProperties: { type: "string" },
  };
  render(<Form schema={within(property)} first={{ it: { a: "1" } }} />);
  await user.selectOptions(screen.getByLabelText("it, loud"), "Yes");
  await user.type(screen.getByLabelText("Name of another of it"), "b{Enter}");
  await user.type(screen.getByLabelText("it, b"), "2");
  await user.click(screen.getByRole("button", { name: "Remove it, a" }));
  expect(held()).toEqual({ it: { loud: true, b: "2" } });
});

it("leaves to JSON what is deeper, or of no declared kind", () => {
  const text = { type: "string" };
  expect(entriesKind({ type: "array", items: text }, ["a"])).toBe("list");
  expect(entriesKind({ type: "array", items: text }, [["a"]])).toBeUndefined();
  expect(entriesKind({ type: "array", items: { type: "object" } }, undefined)).toBeUndefined();
  expect(entriesKind({ type: "object" }, undefined)).toBeUndefined();
  expect(entriesKind({ type: "object", additionalProperties: text }, undefined)).toBe("names");
  expect(entriesKind({ type: "object", additionalProperties: text }, { a: [] })).toBeUndefined();
});

it("shows what is wrong with the values together above them, and with an entry beside it", () => {
  const schema = {
    $defs: { tags: { type: "array", items: { type: "string", maxLength: 1 } } },
    properties: { it: { $ref: "#/$defs/tags" }, other: {} },
    anyOf: [{ required: ["other"] }],
  };
  render(<Form schema={schema} first={{ it: ["ab"] }} />);
  expect(screen.getByLabelText<HTMLInputElement>("it, 1").value).toBe("ab");
  expect(screen.queryByText("At most 1 letter.")).not.toBeNull();
  expect(screen.queryByText("It must be one of the forms that the plugin accepts.")).not.toBeNull();
});

it("leads to the name, while none is typed", async () => {
  render(<Form schema={within({ type: "object", additionalProperties: { type: "string" } })} />);
  await add();
  expect(document.activeElement).toBe(screen.getByPlaceholderText("Name"));
  expect(held()).toEqual({});
  await user.keyboard("Accept");
  await add();
  expect(held()).toEqual({ it: { Accept: "" } });
});
