import { X } from "lucide-react";
import {
  type ChangeEvent,
  type FocusEvent,
  type ReactNode,
  useEffect,
  useId,
  useRef,
  useState,
} from "react";
import { Button } from "@/components/Button";
import { Glyph } from "@/components/Glyph";
import { editorTexts } from "@/editor/editorTexts";
import { PortShape } from "../canvas/canvasNodes";
import type { PortType } from "../model/catalogue";
import { calledText, type Expression, parseSingleExpression } from "../model/expressions";
import { isAt, type Problem } from "../model/problems";
import type { ReferenceOption } from "../model/referenceOptions";
import { formatJson, type UnparsedInputs } from "../session/unparsedInputs";
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
    </div>
  ));
}

type TextProps = {
  value: unknown;
  onChange: (value: string | undefined) => void;
  id: string;
  described?: string;
  wrong?: boolean;
  label: string;
  mono?: boolean;
  rows?: number;
  placeholder?: string;
  onTyping?: (typing: boolean) => void;
};

/**
 * Text that may hold references. A value that is only a reference shows as its target, but not
 * while the user types: the input stays.
 */
export function TextInput(props: TextProps) {
  const { onChange, id, described, wrong, label, mono, rows = 1, placeholder } = props;
  const value = textOf(props.value);
  const [typing, keepTyping] = useState<"line" | "lines">();
  const setTyping = (next: typeof typing) => {
    keepTyping(next);
    props.onTyping?.(next !== undefined);
  };
  const shape = typing ?? (rows > 1 || value.includes("\n") ? "lines" : "line");
  useEffect(() => {
    if (typing) document.getElementById(id)?.focus();
  }, [typing, id]);
  const only = typing ? undefined : parseSingleExpression(value);
  if (only)
    return (
      <Pill
        {...{ id, value, described, wrong, label }}
        expression={only}
        onEdit={() => setTyping(shape)}
        onClear={() => {
          setTyping(shape);
          onChange(undefined);
        }}
      />
    );
  const common = {
    id,
    value,
    placeholder,
    spellCheck: false,
    autoComplete: "off",
    "aria-describedby": described,
    "aria-invalid": wrong ? (true as const) : undefined,
    onFocus: () => setTyping(shape),
    // When the window loses and regains the focus, the field gets it back.
    onBlur: (event: FocusEvent) => document.activeElement !== event.target && setTyping(undefined),
    onChange: (event: ChangeEvent<HTMLInputElement | HTMLTextAreaElement>) =>
      onChange(event.target.value || undefined),
  };
  if (shape === "lines")
    return (
      <textarea
        {...common}
        rows={Math.max(rows, 2, Math.min(12, value.split("\n").length))}
        className={`area ${wrong ? "err" : ""} ${mono ? "mono" : ""}`}
      />
    );
  return (
    <div className={`in ${wrong ? "err" : ""}`}>
      <input {...common} className={mono ? "mono" : undefined} />
    </div>
  );
}

/** What is no text, though it should be, is shown as it is written. */
function textOf(value: unknown): string {
  if (typeof value === "string") return value;
  return value === undefined ? "" : (JSON.stringify(value) ?? "");
}

type PillProps = Pick<TextProps, "id" | "described" | "wrong" | "label"> & {
  value: string;
  expression: Expression;
  onEdit: () => void;
  onClear: () => void;
};

/** Shows a reference by its target, with its functions in front. Pressing it turns it into text. */
function Pill({ id, value, described, wrong, label, expression, ...acts }: PillProps) {
  const { ref, calls } = expression;
  return (
    <div className={`in ${wrong ? "err" : ""}`}>
      <button
        id={id}
        type="button"
        className="ref"
        aria-describedby={described}
        title={value}
        onClick={acts.onEdit}
      >
        {calls.length > 0 ? <span className="ar">{calls.toReversed().join(" ")}</span> : null}
        {"key" in ref ? (
          <>
            <b>{ref.key}</b>
            <span className="ar">›</span>
            {ref.name}
          </>
        ) : (
          <>
            <span className="ar">{ref.scope}</span>
            <b>{ref.name}</b>
          </>
        )}
        <span className="vh">{calledText(ref, calls)}</span>
      </button>
      <Button
        look="ghost"
        small
        icon
        className="end"
        aria-label={t.clear(label)}
        onClick={acts.onClear}
      >
        <X className="i sm" aria-hidden="true" />
      </Button>
    </div>
  );
}

/** A number, or text that is on the way to being one. */
export function NumberInput(
  props: Omit<TextProps, "value" | "onChange" | "rows"> & {
    value: unknown;
    onChange: (value: unknown) => void;
  },
) {
  return (
    <TextInput
      {...props}
      onChange={(text) => {
        const number = Number(text);
        const whole = text !== undefined && text.trim() !== "" && Number.isFinite(number);
        // “1.” and “0.0” are typed on: they become numbers when they are.
        props.onChange(whole && String(number) === text ? number : text);
      }}
    />
  );
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

/** Where texts that are no JSON yet are held, and of which step. */
export type UnparsedOf = { of: UnparsedInputs; step: string };

type JsonProps = {
  id: string;
  /** As problems name it. */
  path: string;
  value: unknown;
  described?: string;
  wrong?: boolean;
  unread: UnparsedOf;
  onChange: (value: unknown) => void;
};

/** Any value, written as JSON; what is no JSON yet is held and goes no further. */
export function JsonInput({ id, path, value, described, wrong, unread, onChange }: JsonProps) {
  const { of, step } = unread;
  const written = formatJson(value);
  const [text, setText] = useState(() => of.text(step, path, written) ?? written);
  useEffect(() => setText(of.text(step, path, written) ?? written), [of, step, path, written]);
  const type = (next: string) => {
    setText(next);
    of.hold(step, path, next, written);
  };
  const leave = () => {
    if (of.text(step, path, written) !== undefined) return;
    const next = text.trim() === "" ? undefined : JSON.parse(text);
    if (formatJson(next) === written) setText(written);
    else onChange(next);
  };
  return (
    <textarea
      id={id}
      className={`area mono ${wrong ? "err" : ""}`}
      rows={Math.max(3, Math.min(12, text.split("\n").length))}
      value={text}
      spellCheck={false}
      aria-describedby={described}
      aria-invalid={wrong ? true : undefined}
      onChange={(event) => type(event.target.value)}
      onBlur={leave}
    />
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
