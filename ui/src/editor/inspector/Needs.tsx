import { X } from "lucide-react";
import { Button } from "@/components/Button";
import { editorTexts } from "@/editor/editorTexts";
import type { Step } from "../model/document";
import { isAt } from "../model/problems";
import { FieldProblems } from "./fields";
import type { InspectorPartProps } from "./inspectorProps";
import { Pick } from "./ReferencePicker";

const t = editorTexts.step;

export function Needs({
  step,
  doc,
  problems,
  onNeed,
  onLetGo,
}: InspectorPartProps & { step: Step }) {
  const needs = step.needs ?? [];
  const others = () => doc.steps.filter((one) => one.key !== step.key && !needs.includes(one.key));
  return (
    <section className="f" data-field="needs" aria-label={t.needs}>
      <h3>{t.needs}</h3>
      {needs.length === 0 ? <span className="t3 s">{t.needsNone}</span> : null}
      {needs.map((need) => (
        <div key={need} className="row">
          <span className="mono tr">{need}</span>
          <Button
            look="ghost"
            small
            icon
            className="end"
            aria-label={t.removeNeed(need)}
            onClick={() => onLetGo(need, step.key)}
          >
            <X className="i sm" aria-hidden="true" />
          </Button>
        </div>
      ))}
      <FieldProblems problems={problems.filter((one) => isAt(one.field, "needs"))} />
      <Pick
        className="sel"
        connect
        label={t.addNeed}
        first={t.addNeed}
        onChoose={(from) => onNeed(from, step.key)}
      >
        {() => others().map((one) => <option key={one.key}>{one.key}</option>)}
      </Pick>
    </section>
  );
}
