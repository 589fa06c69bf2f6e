import { Handle, type Node, type NodeProps, Position } from "@xyflow/react";
import { Box, Braces, Hand, ListChecks, Puzzle } from "lucide-react";
import { createContext, memo, type ReactNode, useContext } from "react";
import { Glyph } from "@/components/Glyph";
import { shortenMiddle } from "@/components/names";
import { editorTexts } from "@/editor/editorTexts";
import type { Mark } from "../compare/ChangeBadge";
import { CHANGE_SIGNS, type Change, ChangeBadge } from "../compare/ChangeBadge";
import type { PortType } from "../model/catalogue";
import { nameOf } from "../model/catalogue";
import { type Comment, kindOf, type Spot, type Step } from "../model/document";
import { parseSingleExpression, refsIn } from "../model/expressions";
import { isAt, type Problem } from "../model/problems";
import { HEAD, MORE, MORE_OUT, PAD, ROW, type Shape, WIDTH } from "./stepGeometry";

const t = editorTexts;
const { types } = t.problem;
export type StepData = {
  step: Step;
  shape: Shape;
  at: number;
  problems: Problem[];
  mark?: Mark;
};
export type CommentData = { comment: Comment; index: number };
export type StepNodeType = Node<StepData, "step">;
export type CommentNodeType = Node<CommentData, "comment">;
export type CanvasNode = StepNodeType | CommentNodeType;

export const COMMENT_WIDTH = 200;

export const CommentActs = createContext<(index: number, text: string) => void>(() => {});

/**
 * Whether the canvas is seen from so far that ports and values could not be read. Then a step is a
 * box with its name, and all edges are a few paths: five hundred steps follow the pointer.
 */
export const ZoomedOut = createContext(false);
export const ZOOMED_OUT_BELOW = 0.4;

const icons = { service: Box, job: ListChecks, plugin: Puzzle, approval: Hand, script: Braces };

/** Where the ports of a step are: told to the library, so that edges need no rendered step. */
export function handlesOf(shape: Shape) {
  const port = { width: 12, height: 12 };
  const y = (row: number) => HEAD + PAD + row * ROW + ROW / 2 - 6;
  const last = shape.inputs.length;
  const first = last + (shape.more > 0 ? 1 : 0);
  return [
    { id: "before", type: "target" as const, position: Position.Left, x: -6, y: 15, ...port },
    {
      id: "after",
      type: "source" as const,
      position: Position.Right,
      x: WIDTH - 6,
      y: 15,
      ...port,
    },
    ...shape.inputs.map((input, i) => ({
      id: `in:${input.path}`,
      type: "target" as const,
      position: Position.Left,
      x: -6,
      y: y(i),
      ...port,
    })),
    ...(shape.more > 0
      ? [{ id: MORE, type: "target" as const, position: Position.Left, x: -6, y: y(last), ...port }]
      : []),
    ...shape.outputs.map((output, i) => ({
      id: `out:${output.name}`,
      type: "source" as const,
      position: Position.Right,
      x: WIDTH - 6,
      y: y(first + i),
      ...port,
    })),
    ...(shape.moreOut > 0
      ? [
          {
            id: MORE_OUT,
            type: "source" as const,
            position: Position.Right,
            x: WIDTH - 6,
            y: y(first + shape.outputs.length),
            ...port,
          },
        ]
      : []),
  ];
}

const paths: Record<PortType, string> = {
  text: "M6 1a5 5 0 1 0 0 10A5 5 0 0 0 6 1Z",
  number: "M1.5 1.5h9v9h-9Z",
  url: "M6 1l5.2 9.6H.8Z",
  secret: "M6 .4 11.6 6 6 11.6.4 6Z",
  object: "M3.3 1h5.4L11.6 6 8.7 11H3.3L.4 6Z",
  bool: "M6 1a5 5 0 0 0 0 10Z",
  any: "M6 2.4a3.6 3.6 0 1 0 0 7.2 3.6 3.6 0 0 0 0-7.2Z",
};

/** The shape says the type, the colour comes second. */
export function PortShape({ type }: { type: PortType }) {
  return (
    <svg className="pt-i" data-t={type} viewBox="0 0 12 12" aria-hidden="true">
      {type === "bool" ? (
        <circle cx="6" cy="6" r="4.6" fill="none" stroke="currentColor" strokeWidth="1.4" />
      ) : null}
      {type === "any" ? (
        <path d={paths.any} fill="none" stroke="currentColor" strokeWidth="1.6" />
      ) : (
        <path d={paths[type]} fill="currentColor" />
      )}
    </svg>
  );
}

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
      {far ? <FarAway data={data} /> : <Near data={data} errors={errors} />}
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
  const { step, shape, at, problems, mark } = data;
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
        <Counts
          errors={errors.length}
          advice={problems.length - errors.length}
          passes={mark === "passes"}
        />
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

type PortProps = {
  id: string;
  name: string;
  out?: boolean;
  className?: string;
  children?: ReactNode;
};

/** Where a line begins or ends. */
function Port({ id, name, out, className, children }: PortProps) {
  return (
    <Handle
      id={id}
      type={out ? "source" : "target"}
      position={out ? Position.Right : Position.Left}
      className={className}
      role="img"
      aria-label={name}
      title={name}
    >
      {children}
    </Handle>
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

export const FlowComment = memo(function FlowComment({
  data,
  selected,
}: NodeProps<CommentNodeType>) {
  const change = useContext(CommentActs);
  return (
    <div className={`note ${selected ? "on" : ""}`}>
      <textarea
        className="nodrag nowheel"
        aria-label={t.commentLabel}
        placeholder={t.commentEmpty}
        value={data.comment.text}
        maxLength={2000}
        rows={linesOf(data.comment.text)}
        onChange={(event) => change(data.index, event.target.value)}
      />
    </div>
  );
});

/** About so many lines a comment takes. */
export function linesOf(text: string): number {
  const wrapped = text.split("\n").map((line) => Math.max(1, Math.ceil(line.length / 28)));
  return Math.max(
    2,
    wrapped.reduce((sum, one) => sum + one, 0),
  );
}

export function commentHeight(comment: Comment): number {
  return 34 + linesOf(comment.text) * 16;
}

export function spotOf(item: { position?: Spot }, index: number): Spot {
  return (
    item.position ?? { x: 24 + (index % 6) * (WIDTH + 64), y: 24 + Math.floor(index / 6) * 190 }
  );
}
