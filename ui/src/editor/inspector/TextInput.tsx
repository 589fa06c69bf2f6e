import { X } from "lucide-react";
import { type ChangeEvent, type FocusEvent, useEffect, useState } from "react";
import { Button } from "@/components/Button";
import { editorTexts } from "@/editor/editorTexts";
import { calledText, type Expression, parseSingleExpression } from "../model/expressions";

const t = editorTexts.step;

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
