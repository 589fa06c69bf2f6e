import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { useState } from "react";
import { afterEach, expect, it, vi } from "vitest";
import { client } from "@/api/client";
import { scriptTexts as t } from "@/editor/inspector/scriptTexts";
import type { Catalogue } from "../model/catalogue";
import { type Step, writeField } from "../model/document";
import type { Samples } from "../model/environment";
import type { Problem } from "../model/problems";
import { UnparsedInputs } from "../session/unparsedInputs";
import { Inspector } from "./Inspector";

const user = userEvent.setup({ delay: null });
afterEach(() => {
  cleanup();
  vi.restoreAllMocks();
});

const catalogue: Catalogue = { services: new Map(), plugins: new Map(), secrets: ["key"] };
const sample = { name: "x", environment: "", all: [] as string[] } as unknown as Samples;
const queries = new QueryClient();

function Edited({ first, problems = [] }: { first: Step; problems?: Problem[] }) {
  const [step, setStep] = useState(first);
  const nothing = () => {};
  return (
    <QueryClientProvider client={queries}>
      <Inspector
        turn={0}
        count={1}
        about={false}
        onAbout={nothing}
        step={step}
        doc={{ steps: [step], comments: [] }}
        catalogue={catalogue}
        problems={problems}
        sample={sample}
        unread={new UnparsedInputs()}
        onChange={(path, value) => setStep((now) => writeField(now, path, value))}
        images={new Map()}
        onStep={nothing}
        onKind={nothing}
        onRename={nothing}
        onNeed={nothing}
        onLetGo={nothing}
      />
      <output data-testid="held">{JSON.stringify(step)}</output>
    </QueryClientProvider>
  );
}
const held = (): Step => JSON.parse(screen.getByTestId("held").textContent || "null");
const code = async () => (await screen.findByLabelText(t.source)) as HTMLTextAreaElement;

it("edits the code, completes names of the contract, and marks the line of an error", async () => {
  const source = "export default () => {\n  let x = ;\n}";
  const wrong: Problem = {
    step: "derive",
    field: "script.source",
    code: "script_syntax",
    message: 'line 2, column 11: Unexpected ";"',
  };
  render(<Edited first={{ key: "derive", script: { source } }} problems={[wrong]} />);
  const field = await code();
  expect([...document.querySelectorAll(".gutter .bad")].map((one) => one.textContent)).toEqual([
    "2",
  ]);
  await user.click(screen.getByRole("button", { name: t.goTo(2) }));
  expect(field.selectionStart).toBe(source.indexOf(";"));
  await user.keyboard("secr{Control>} {/Control}");
  await user.click(screen.getByRole("button", { name: "secrets" }));
  expect(held().script?.source).toBe("export default () => {\n  let x = secrets;\n}");
});

it("runs the script with recorded inputs", async () => {
  const script = { source: "export default () => {}", parameters: { name: "Demo" } };
  const post = vi.spyOn(client, "POST").mockResolvedValue({
    data: { log: ["hello"], dropped: 0, removes: false, seconds: 0.1, outputs: { slug: "demo" } },
    response: new Response(),
  } as never);
  render(<Edited first={{ key: "derive", script }} />);
  await code();
  await user.click(screen.getByRole("button", { name: t.run }));
  await screen.findByText("hello");
  expect(screen.getByText(/"slug": "demo"/)).toBeTruthy();
  expect(post).toHaveBeenCalledWith("/api/v1/scripts/test", {
    body: expect.objectContaining({
      source: script.source,
      action: "create",
      input: expect.objectContaining({ parameters: { name: "Demo" } }),
    }),
  });
});
