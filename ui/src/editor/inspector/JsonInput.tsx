import { useEffect, useState } from "react";
import { formatJson, type UnparsedInputs } from "../session/unparsedInputs";

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
