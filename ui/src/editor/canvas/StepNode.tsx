import { Handle, type NodeProps, Position } from "@xyflow/react";
import { Box, Braces, Hand, ListChecks, Puzzle } from "lucide-react";
import { createContext, memo, type ReactNode, useContext } from "react";
import type { Step as RunStep } from "@/api/client";
import { Glyph } from "@/components/Glyph";
import { shortenMiddle } from "@/components/names";
import { lookOf, stateWord } from "@/components/Status";
import { elapsedBetween, formatDuration } from "@/components/time";
import { editorTexts } from "@/editor/editorTexts";
import { CHANGE_SIGNS, type Change, ChangeBadge } from "../compare/ChangeBadge";
import { nameOf } from "../model/catalogue";
import { kindOf } from "../model/document";
import { parseSingleExpression, refsIn } from "../model/expressions";
import { isAt, type Problem } from "../model/problems";
import { CanvasActs, type StepData, type StepNodeType, ZoomedOut } from "./canvasNodes";
import { PortShape } from "./PortShape";
import { MORE, MORE_OUT } from "./stepGeometry";

const t = editorTexts;
const types = t.problem.types;

const icons = { service: Box, job: ListChecks, plugin: Puzzle, approval: Hand, script: Braces };

export const FlowStep = memo(function FlowStep({ data, selected }: NodeProps<StepNodeType>) {
  const { step, shape, problems, mark } = data;
  const far = useContext(ZoomedOut);
  const errors = problems.filter((problem) => !problem.advice);
  return (
    <div
      className={`en ${errors.length > 0 ? "bad" : ""} ${selected ? "on" : ""} ${far ? "far" : ""}`}
      style={far ? { height: shape.height } : undefined}
      data-mark={mark}
      data-key={step.key}
    >
      {far ? (
        <FarAway data={data} />
      ) : (
        <StepKey value={step.key}>
          <Near data={data} errors={errors} />
        </StepKey>
      )}
    </div>
  );
});

/** The name of a step, as much of it as there is room for. */
function FarAway({ data: { step, shape, mark } }: { data: StepData }) {
  const lines = Math.floor((shape.height - 10) / 30);
  const sign = mark && mark in CHANGE_SIGNS ? `${CHANGE_SIGNS[mark as Change]} ` : "";
  return sign + shortenMiddle(step.key, lines * 10 - sign.length);
}

/** All of a step, as it is read at arm's length. */
function Near({ data, errors }: { data: StepData; errors: Problem[] }) {
  const { step, shape, at, problems, mark, ran } = data;
  const Icon = icons[kindOf(step)];
  const wrong = (path: string) => errors.some((problem) => isAt(problem.field, path));
  return (
    <>
      <div className="eh">
        <Port id="before" name={t.ports.before(step.key)} className="sq" />
        <span className="ico">
          <Icon className="i sm" aria-hidden="true" />
        </span>
        <span className="col grow">
          <span className="nm tr">{step.key}</span>
          <span className="sb tr">{nameOf(step)}</span>
        </span>
        {ran ? (
          <Ran step={ran} />
        ) : (
          <Counts
            errors={errors.length}
            advice={problems.length - errors.length}
            passes={mark === "passes"}
          />
        )}
        {mark && mark !== "passes" ? <ChangeBadge mark={mark} word={t.panel[mark]} /> : null}
        {at > 0 ? <span className="ord">{at}</span> : null}
        <Port id="after" out name={t.ports.after(step.key)} className="sq" />
      </div>
      {shape.inputs.length + shape.outputs.length > 0 ? (
        <div className="ep">
          {shape.inputs.map((input) => (
            <div
              key={input.path}
              className={`pr ${wrong(input.path) ? "err" : ""}`}
              data-t={input.type}
            >
              <Port id={`in:${input.path}`} name={t.ports.input(input.label, types[input.type])}>
                <PortShape type={input.type} />
              </Port>
              <span className="tr">{input.label}</span>
              <Value value={input.value} required={input.required} />
            </div>
          ))}
          {shape.more > 0 ? (
            <div className="pr t3">
              <Port id={MORE} name={t.ports.more(shape.more)}>
                <PortShape type="any" />
              </Port>
              {t.moreFields(shape.more)}
            </div>
          ) : null}
          {shape.outputs.map((output) => (
            <div key={output.name} className="pr o" data-t={output.type}>
              <Value value={ran?.outputs?.[output.name]} />
              <span className="tr">{output.label}</span>
              <Port
                id={`out:${output.name}`}
                out
                name={t.ports.output(output.label, types[output.type])}
              >
                <PortShape type={output.type} />
              </Port>
            </div>
          ))}
          {shape.moreOut > 0 ? (
            <div className="pr o t3">
              {t.moreFields(shape.moreOut)}
              <Port id={MORE_OUT} out name={t.ports.moreOut(shape.moreOut)}>
                <PortShape type="any" />
              </Port>
            </div>
          ) : null}
        </div>
      ) : null}
    </>
  );
}

/** The step that a port belongs to. */
const StepKey = createContext("");

type PortProps = {
  id: string;
  name: string;
  out?: boolean;
  className?: string;
  children?: ReactNode;
};

/** Where a line begins or ends. */
function Port({ id, name, out, className, children }: PortProps) {
  const acts = useContext(CanvasActs);
  const node = useContext(StepKey);
  return (
    <Handle
      id={id}
      type={out ? "source" : "target"}
      position={out ? Position.Right : Position.Left}
      className={className}
      role="img"
      aria-label={name}
      title={name}
      onClick={(event) => {
        if (id === MORE || id === MORE_OUT) return;
        event.stopPropagation();
        const type = out ? "source" : "target";
        acts.plus({ node, handle: id, type }, event.currentTarget.getBoundingClientRect());
      }}
    >
      {children}
    </Handle>
  );
}

/** What came of it when its branch ran. */
function Ran({ step }: { step: RunStep }) {
  const word = stateWord(step.status);
  const took = step.ended_at ? formatDuration(elapsedBetween(step.started_at, step.ended_at)) : "";
  return (
    <span
      className="bdg ran"
      data-st={lookOf(step.status)}
      title={[word, took, step.message].filter(Boolean).join(", ")}
    >
      <Glyph state={step.status} size="sm" />
      <span className="vh">{word}</span>
      {step.title === "pinned" ? step.title : took}
    </span>
  );
}

type CountsProps = { errors: number; advice: number; passes: boolean };

function Counts({ errors, advice, passes }: CountsProps) {
  if (errors > 0)
    return (
      <span className="bdg" data-st="failed">
        <Glyph state="failed" size="sm" />
        {errors}
      </span>
    );
  if (passes)
    return (
      <span className="bdg" data-st="ready" title={t.dry.passes}>
        <Glyph state="ready" size="sm" />
        <span className="vh">{t.dry.passes}</span>
      </span>
    );
  return advice > 0 ? (
    <span className="bdg" data-st="warn">
      <Glyph state="warn" size="sm" />
      {advice}
    </span>
  ) : null;
}

function Value({ value, required }: { value: unknown; required?: boolean }) {
  if (value === undefined || value === "")
    return required ? <span className="va">{t.emptyValue}</span> : null;
  // Of what is more than text, what it refers to says most.
  const ref = typeof value === "string" ? parseSingleExpression(value)?.ref : refsIn(value)[0];
  if (ref) {
    const from = "key" in ref ? ref.key : ref.name;
    return <span className="va tr">{from}</span>;
  }
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return <span className="va tr">{text}</span>;
}
