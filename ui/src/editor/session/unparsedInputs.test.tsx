import { cleanup, render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, expect, it } from "vitest";
import PluginForm from "../inspector/PluginForm";
import type { Doc } from "../model/document";
import { UnparsedInputs, unparsedProblems } from "./unparsedInputs";

const user = userEvent.setup({ delay: null });
afterEach(cleanup);

const schema = { properties: { tree: { type: "object", properties: { a: { type: "object" } } } } };
const drawn = (tree: unknown): Doc => ({
  steps: [{ key: "seed", plugin: { name: "seed", parameters: { tree } as never } }],
  comments: [],
});

function form(unread?: UnparsedInputs, tree: unknown = { a: {} }, given: unknown[] = []) {
  return render(
    <PluginForm
      schema={schema}
      values={{ tree }}
      problems={[]}
      offersFor={() => []}
      unread={unread && { of: unread, step: "seed" }}
      onChange={(_, value) => given.push(value)}
    />,
  );
}
const field = () => screen.getByLabelText<HTMLTextAreaElement>("tree");

it("keeps what is no JSON yet while another step is looked at, and lists it as a problem", async () => {
  const [unread, given] = [new UnparsedInputs(), [] as unknown[]];
  const { unmount } = form(unread, undefined, given);
  await user.clear(field());
  await user.type(field(), "{{");
  unmount();
  expect(given).toEqual([]);
  const [problem] = unparsedProblems(unread.get(), drawn({ a: {} }));
  expect([problem?.step, problem?.field]).toEqual(["seed", "plugin.parameters.tree"]);
  form(unread, undefined, given);
  expect(field().value).toBe("{");
  await user.clear(field());
  await user.type(field(), '{{"a":{{"b":1}}');
  await user.tab();
  expect(given).toEqual([{ a: { b: 1 } }]);
  expect(unread.get()).toEqual([]);
});

it("lets go of it once the field has another value", async () => {
  const unread = new UnparsedInputs();
  const { unmount } = form(unread);
  await user.type(field(), "x");
  unmount();
  expect(unparsedProblems(unread.get(), drawn({ a: { b: 2 } }))).toEqual([]);
  expect(unparsedProblems(unread.get(), { steps: [], comments: [] })).toEqual([]);
  form(unread, { a: { b: 2 } });
  expect(JSON.parse(field().value)).toEqual({ a: { b: 2 } });
});

it("goes along when the step is renamed", async () => {
  const unread = new UnparsedInputs();
  form(unread);
  await user.type(field(), "x");
  unread.rename("seed", "fill");
  expect(unread.get().map((one) => one.step)).toEqual(["fill"]);
});

it("says beside the field of a form of its own that it is no JSON", async () => {
  form();
  await user.type(field(), "x");
  expect(screen.queryByText(/This is no JSON/)).not.toBeNull();
});
