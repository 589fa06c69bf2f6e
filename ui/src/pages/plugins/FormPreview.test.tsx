import { cleanup, render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, expect, it } from "vitest";
import { FormPreview } from "./FormPreview";

afterEach(cleanup);

const schema = (title: string) =>
  JSON.stringify({ properties: { mood: { title, enum: ["calm", "loud"], default: "calm" } } });

it("is the form itself, with its own kinds of fields, and follows the schema", async () => {
  const { rerender } = render(<FormPreview text={schema("In what mood")} />);
  const field = await screen.findByLabelText("In what mood");
  await userEvent.selectOptions(field, "loud");
  expect((field as HTMLSelectElement).value).toBe('"loud"');
  rerender(<FormPreview text={schema("How")} />);
  await screen.findByLabelText("How");
  rerender(<FormPreview text={'{"properties": {"a": {"type": "text"}}}'} />);
  screen.getByText("Fix the schema to see its form.");
});
