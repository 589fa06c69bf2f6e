import { CONTRACT, scriptTexts as t } from "@/editor/inspector/scriptTexts";
import { properties } from "../model/catalogue";
import { isAt } from "../model/problems";
import { CodeInput } from "./CodeInput";
import { ChoiceInput, Shell } from "./fields";
import { JsonInput } from "./JsonInput";
import type { StepFormProps } from "./records";
import { ScriptTrial } from "./ScriptTrial";
import { NumberInput } from "./TextInput";
import "./script.css";

/** A script: its code, what it is given, what it returns, and a test run. */
export default function ScriptSettings(props: StepFormProps) {
  const { step, doc, problems, unread, onChange } = props;
  const script = step.script ?? { source: "" };
  const known = {
    parameters: Object.keys(script.parameters ?? {}),
    secrets: Object.keys(script.secrets ?? {}),
    outputs: properties(script.outputs).map(([name]) => name),
    services: doc.steps.filter((one) => one.service).map((one) => one.key),
  };
  return (
    <>
      <Shell label={t.source} path="script.source" hint={t.sourceHint} problems={problems}>
        {(id, described) => (
          <CodeInput
            id={id}
            described={described}
            value={script.source}
            problems={problems.filter((one) => isAt(one.field, "script.source"))}
            known={known}
            onChange={(text) => onChange("script.source", text)}
          />
        )}
      </Shell>
      <details>
        <summary className="t2 s">{t.contract}</summary>
        <pre className="mono s whitespace-pre-wrap break-words">{CONTRACT}</pre>
      </details>
      {(["parameters", "secrets", "outputs"] as const).map((name) => (
        <Shell
          key={name}
          label={t[name]}
          path={`script.${name}`}
          hint={t[`${name}Hint`]}
          problems={problems}
        >
          {(id, described, wrong) => (
            <JsonInput
              id={id}
              path={`script.${name}`}
              described={described}
              wrong={wrong}
              value={script[name]}
              unread={{ of: unread, step: step.key }}
              onChange={(next) => onChange(`script.${name}`, next)}
            />
          )}
        </Shell>
      ))}
      <Shell label={t.timeout} path="script.timeout_seconds" problems={problems}>
        {(id, described, wrong) => (
          <NumberInput
            id={id}
            described={described}
            wrong={wrong}
            label={t.timeout}
            placeholder="10"
            value={script.timeout_seconds}
            onChange={(next) => onChange("script.timeout_seconds", next)}
          />
        )}
      </Shell>
      <Shell label={t.clock} path="script.clock" problems={problems}>
        {(id, described) => (
          <ChoiceInput
            id={id}
            described={described}
            value={script.clock ? "yes" : "no"}
            options={Object.entries(t.clocks).map(([value, label]) => ({ value, label }))}
            onChange={(next) => onChange("script.clock", next === "yes" ? true : undefined)}
          />
        )}
      </Shell>
      <ScriptTrial script={script} />
    </>
  );
}
