import { CopyButton } from "@/components/Copy";
import { editorTexts } from "@/editor/editorTexts";
import { PortShape } from "../canvas/PortShape";
import { outputsOf } from "../model/catalogue";
import type { Step } from "../model/document";
import { refTo } from "../model/edit";
import { formatExpression, refText } from "../model/expressions";
import type { InspectorPartProps } from "./inspectorProps";

const t = editorTexts.step;

export function Outputs({ step, doc, catalogue }: InspectorPartProps & { step: Step }) {
  const ports = outputsOf(step, catalogue);
  if (ports.length === 0) return <p className="t3">{t.noOutputs}</p>;
  return (
    <>
      <p className="hint">{t.outputs}</p>
      {ports.map((port) => {
        const ref = refTo(doc, step.key, port.name);
        return (
          <div key={port.name} className="row">
            <PortShape type={port.type} />
            <span className="tr">{port.label}</span>
            <span className="t3 s end">{editorTexts.problem.types[port.type]}</span>
            <CopyButton text={formatExpression(ref)} what={refText(ref)} />
          </div>
        );
      })}
    </>
  );
}
