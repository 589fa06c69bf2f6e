import { type ReactNode, useEffect, useId, useRef, useState } from "react";
import { Glyph } from "@/components/Glyph";
import { editorTexts } from "@/editor/editorTexts";
import { PortShape } from "../canvas/PortShape";
import type { PortType } from "../model/catalogue";
import { isAt, type Problem } from "../model/problems";
import type { ReferenceOption } from "../model/referenceOptions";
import { SetSecretButton } from "../SetSecretButton";
import { ReferencePicker } from "./ReferencePicker";

const t = editorTexts.step;

export type FieldShell = {
  label: string;
  /** As problems name it. A value that is dropped on the field goes there. */
  path: string;
  type?: PortType;
  hint?: string;
  required?: boolean;
  problems: Problem[];
  children: (id: string, described: string | undefined, wrong: boolean) => ReactNode;
  offers?: () => ReferenceOption[];
  /** A reference is chosen, and where the caret was last, if it ever was in the field. */
  onRefer?: (text: string, at?: number) => void;
};

/** Label, control, and what is wrong with it; also where an output can be dropped. */
export function Shell(props: FieldShell) {
  const { label, path, type, hint, required, problems, offers, onRefer } = props;
  const id = useId();
  const caret = useRef<number>(undefined);
  const errors = problems.filter((one) => isAt(one.field, path));
  const described = errors.length > 0 || hint ? `${id}-more` : undefined;
  const wrong = errors.some((one) => !one.advice);
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: it only keeps where the caret was
    <div
      className="f"
      data-field={path}
      onBlur={({ target }) => {
        if (isText(target)) caret.current = target.selectionStart ?? undefined;
      }}
    >
      <div className="lb">
        {type ? <PortShape type={type} /> : null}
        <label className="lbl" htmlFor={id}>
          {label}
        </label>
        <span className="ty">
          {[type ? editorTexts.problem.types[type] : "", required ? t.required : ""]
            .filter(Boolean)
            .join(", ")}
        </span>
        {offers && onRefer ? (
          <ReferencePicker
            label={label}
            offers={offers}
            onChoose={(ref) => onRefer(ref, caret.current)}
          />
        ) : null}
      </div>
      {props.children(id, described, wrong)}
      <div id={`${id}-more`}>
        <FieldProblems problems={errors} />
        {hint && errors.length === 0 ? <div className="hint">{hint}</div> : null}
      </div>
    </div>
  );
}

function isText(target: EventTarget): target is HTMLInputElement | HTMLTextAreaElement {
  return target instanceof HTMLTextAreaElement || target instanceof HTMLInputElement;
}

export function FieldProblems({ problems }: { problems: Problem[] }) {
  return problems.map((one) => (
    <div
      key={one.field + one.code + one.message}
      className="er"
      data-st={one.advice ? "warn" : "failed"}
    >
      <Glyph state={one.advice ? "warn" : "failed"} size="sm" />
      <span>{one.message}</span>
      <SetSecretButton problem={one} />
    </div>
  ));
}

export function ChoiceInput(props: {
  id?: string;
  /** Where no label is bound to it. */
  label?: string;
  value: string;
  described?: string;
  options: { value: string; label: string }[];
  onChange: (value: string) => void;
}) {
  return (
    <select
      id={props.id}
      className="sel"
      aria-label={props.label}
      value={props.value}
      aria-describedby={props.described}
      onChange={(event) => props.onChange(event.target.value)}
    >
      {props.options.map((option) => (
        <option key={option.value} value={option.value}>
          {option.label}
        </option>
      ))}
    </select>
  );
}

/** Lines of text as a list: a command, or people. */
export function LinesInput(props: {
  id: string;
  value: string[] | undefined;
  described?: string;
  onChange: (value: string[] | undefined) => void;
}) {
  const written = (props.value ?? []).join("\n");
  const [text, setText] = useState(written);
  useEffect(() => {
    // Empty lines that are being typed are no words yet, and stay while one types.
    setText((now) => (nonEmptyLines(now).join("\n") === written ? now : written));
  }, [written]);
  return (
    <textarea
      id={props.id}
      className="area mono"
      rows={Math.max(2, Math.min(8, text.split("\n").length))}
      value={text}
      spellCheck={false}
      aria-describedby={props.described}
      onChange={(event) => {
        setText(event.target.value);
        const next = nonEmptyLines(event.target.value);
        props.onChange(next.length > 0 ? next : undefined);
      }}
    />
  );
}

function nonEmptyLines(text: string): string[] {
  return text.split("\n").filter((line) => line !== "");
}
