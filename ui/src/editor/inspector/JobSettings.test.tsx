import { cleanup, render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { useState } from "react";
import { afterEach, expect, it } from "vitest";
import type { Schemas } from "@/api/client";
import { editorTexts } from "@/editor/editorTexts";
import { jobTexts } from "@/editor/inspector/jobTexts";
import type { Catalogue } from "../model/catalogue";
import { type Step, writeField } from "../model/document";
import { withKind } from "../model/edit";
import type { Samples } from "../model/environment";
import { problemsOf } from "../model/problems";
import { UnparsedInputs } from "../session/unparsedInputs";
import { Inspector } from "./Inspector";

const user = userEvent.setup({ delay: null });
afterEach(cleanup);

const t = editorTexts.step;
const service = { image: "shop/app", tag_mode: "selectable" } as Schemas["Service"];
const catalogue: Catalogue = {
  services: new Map([
    ["app", service],
    ["migrate", service],
  ]),
  plugins: new Map(),
  secrets: [],
};
const sample = { name: "x", environment: "", all: [] as string[] } as unknown as Samples;

function Edited({ first }: { first: Step }) {
  const [step, setStep] = useState(first);
  const doc = { steps: [step], comments: [] };
  const nothing = () => {};
  return (
    <>
      <Inspector
        turn={0}
        count={1}
        about={false}
        onAbout={nothing}
        step={step}
        doc={doc}
        catalogue={catalogue}
        problems={problemsOf(doc, catalogue)}
        sample={sample}
        unread={new UnparsedInputs()}
        onChange={(path, value) => setStep((now) => writeField(now, path, value))}
        images={new Map()}
        onStep={nothing}
        onKind={(kind) => setStep((now) => withKind(now, kind))}
        onRename={nothing}
        onNeed={nothing}
        onLetGo={nothing}
      />
      <output>{JSON.stringify(step)}</output>
    </>
  );
}
const held = (): Step => JSON.parse(screen.getByRole("status").textContent || "null");
const resources = { cpu: 1, memory_mib: 64 };

it("makes a service a job, and asks nothing of it that a job does not have", async () => {
  const ready = { tcp: { port: 80 } };
  const ports = [{ name: "http", port: 80 }];
  render(<Edited first={{ key: "app", service: { name: "app", ready, ports, resources } }} />);
  expect(await screen.findByLabelText(t.ready)).toBeTruthy();
  await user.selectOptions(screen.getByLabelText(t.kind), "job");
  expect(held()).toEqual({ key: "app", job: { name: "app", ports, resources } });
  expect(screen.queryByLabelText(t.ready)).toBeNull();
  expect(screen.queryByLabelText(t.expose)).toBeNull();
  await user.click(screen.getByRole("tab", { name: t.tabs.limits }));
  expect(screen.queryByLabelText(t.restart)).toBeNull();
  await user.type(screen.getByLabelText(t.timeout), "90");
  await user.type(screen.getByLabelText(t.command), "up");
  expect(held().job).toMatchObject({ timeout_seconds: 90, command: ["up"] });
  expect(screen.queryByRole("tab", { name: t.tabs.outputs })).toBeNull();
});

it("asks which service a job runs, and where it leaves test results", async () => {
  render(<Edited first={{ key: "job", job: { name: "", resources } }} />);
  expect(await screen.findByText("job")).toBeTruthy();
  const choice = await screen.findByLabelText(jobTexts.service);
  expect(screen.getByText(editorTexts.problem.chooseService)).toBeTruthy();
  await user.selectOptions(choice, "migrate");
  expect(screen.queryByText(editorTexts.problem.chooseService)).toBeNull();
  expect(screen.queryByLabelText(jobTexts.failed)).toBeNull();
  await user.type(screen.getByLabelText(jobTexts.junit), "/r/*.xml");
  await user.selectOptions(screen.getByLabelText(jobTexts.failed), "mark");
  expect(held().job).toEqual({
    name: "migrate",
    resources,
    tests: { junit: "/r/*.xml", failed: "mark" },
  });
  await user.clear(screen.getByLabelText(jobTexts.junit));
  expect(held().job?.tests).toBeUndefined();
});
