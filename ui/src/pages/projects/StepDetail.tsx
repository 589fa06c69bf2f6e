import type { Schemas } from "@/api/client";
import { BidiSafe } from "@/components/BidiSafe";
import { containerOf, kindOf } from "@/editor/model/document";
import { pageTexts } from "@/pages/deployment/pageTexts";
import { type Fact, factsOf } from "./stepFacts";

/** All of a step as text. */
export function StepDetail({ step }: { step: Schemas["PipelineStep"] }) {
  return (
    <>
      <div className="sth">
        <h2>{step.key}</h2>
        <span className="t3">
          {pageTexts[kindOf(step)]} {containerOf(step)?.name ?? step.plugin?.name}
        </span>
      </div>
      <dl className="kv pane content-start" tabIndex={0}>
        {factsOf(step).map((fact) => (
          <Line key={fact.name} fact={fact} />
        ))}
      </dl>
    </>
  );
}

function Line({ fact: { name, value, code } }: { fact: Fact }) {
  return (
    <>
      <dt>{name}</dt>
      <dd className={code ? "mono whitespace-pre-wrap" : undefined}>
        <BidiSafe text={value} />
      </dd>
    </>
  );
}
