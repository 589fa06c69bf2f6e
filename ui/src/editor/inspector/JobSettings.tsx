import { jobTexts as t } from "@/editor/inspector/jobTexts";
import { readTexts } from "@/editor/readTexts";
import type { Step } from "../model/document";
import { ChoiceInput, Shell } from "./fields";
import { Group, type StepFormProps } from "./records";
import { TextInput } from "./TextInput";

type Tests = NonNullable<NonNullable<Step["job"]>["tests"]>;

/** What a job has and a service does not. */
export default function JobSettings(props: StepFormProps) {
  return (
    <>
      <ServiceChoice {...props} />
      <TestResults {...props} />
    </>
  );
}

/** The service whose image runs. One that the catalogue no longer has stays listed. */
function ServiceChoice({ step, catalogue, problems, onChange }: StepFormProps) {
  const name = step.job?.name ?? "";
  const names = [...new Set([name, ...catalogue.services.keys()])];
  const options = names.map((value) => ({ value, label: value || t.choose }));
  return (
    <Shell label={t.service} path="job.name" hint={t.serviceHint} problems={problems}>
      {(id, described) => (
        <ChoiceInput
          id={id}
          described={described}
          value={name}
          options={options}
          onChange={(next) => onChange("job.name", next)}
        />
      )}
    </Shell>
  );
}

/** Where the results of a test suite are, and what failed tests mean. */
function TestResults({ step, problems, onChange }: StepFormProps) {
  const tests = step.job?.tests;
  const set = (part: Partial<Tests>) => {
    const next = { junit: "", ...tests, ...part };
    onChange("job.tests", next.junit ? next : undefined);
  };
  return (
    <Group title={t.tests} hint={t.testsHint}>
      <Shell label={t.junit} path="job.tests.junit" problems={problems}>
        {(id, described, wrong) => (
          <TextInput
            id={id}
            described={described}
            wrong={wrong}
            label={t.junit}
            mono
            placeholder="/results/*.xml"
            value={tests?.junit}
            onChange={(junit) => set({ junit: junit ?? "" })}
          />
        )}
      </Shell>
      {tests ? (
        <Shell label={t.failed} path="job.tests.failed" problems={problems}>
          {(id, described) => (
            <ChoiceInput
              id={id}
              described={described}
              value={tests.failed ?? "fail"}
              options={Object.entries(readTexts.failures).map(([value, label]) => ({
                value,
                label,
              }))}
              onChange={(next) => set({ failed: next === "mark" ? "mark" : undefined })}
            />
          )}
        </Shell>
      ) : null}
    </Group>
  );
}
