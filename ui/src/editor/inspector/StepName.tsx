import { useEffect, useState } from "react";
import { editorTexts } from "@/editor/editorTexts";
import type { Step } from "../model/document";
import { isKey } from "../model/edit";
import { Shell } from "./fields";
import type { InspectorPartProps } from "./inspectorProps";

const t = editorTexts.step;

/** The name is taken when the field is left: every reference to the step goes along. */
export function Key({ step, doc, problems, onRename }: InspectorPartProps & { step: Step }) {
  const [text, setText] = useState(step.key);
  useEffect(() => setText(step.key), [step.key]);
  const taken = text !== step.key && doc.steps.some((one) => one.key === text);
  const why = taken ? t.keyTaken : isKey(text) ? "" : editorTexts.problem.key;
  const own = why
    ? [...problems, { field: "key", code: "key", message: why, step: step.key }]
    : problems;
  const leave = () => {
    if (!why && text !== step.key) onRename(step.key, text);
  };
  return (
    <Shell label={t.key} path="key" hint={t.keyHint} problems={own}>
      {(id, described, wrong) => (
        <div className={`in ${wrong ? "err" : ""}`}>
          <input
            id={id}
            className="mono"
            value={text}
            maxLength={40}
            spellCheck={false}
            autoComplete="off"
            aria-describedby={described}
            aria-invalid={wrong ? true : undefined}
            onChange={(event) => setText(event.target.value)}
            onBlur={leave}
            onKeyDown={(event) => {
              if (event.key === "Enter") leave();
              // Escape leads out of the inspector, and takes no half a name along.
              if (event.key === "Escape") setText(step.key);
            }}
          />
        </div>
      )}
    </Shell>
  );
}
