import { type InputHTMLAttributes, type ReactNode, type Ref, useId } from "react";
import { Glyph } from "./Glyph";

type Props = InputHTMLAttributes<HTMLInputElement> & {
  label: string;
  hint?: ReactNode;
  /** What is wrong and what to do about it. */
  error?: string | null;
  after?: ReactNode;
  mono?: boolean;
  big?: boolean;
  ref?: Ref<HTMLInputElement>;
};

/** A labelled input with its hint and its refusal. */
export function Field({ label, hint, error, after, mono, big, ...input }: Props) {
  const id = useId();
  return (
    <div className="field">
      <label className="lbl" htmlFor={id}>
        {label}
      </label>
      <div className={`in ${error ? "err" : ""} ${big ? "big" : ""}`}>
        <input
          id={id}
          autoComplete="off"
          {...input}
          className={mono ? "mono" : undefined}
          aria-invalid={error ? true : undefined}
          aria-describedby={error || hint ? `${id}-more` : undefined}
        />
        {after}
      </div>
      <div id={`${id}-more`}>
        {error ? <Refusal>{error}</Refusal> : hint ? <div className="hint">{hint}</div> : null}
      </div>
    </div>
  );
}

/** Octagon and sentence: what is refused, why, and the remedy. */
export function Refusal({ children }: { children: ReactNode }) {
  return (
    <div className="er" data-st="failed" role="alert">
      <Glyph state="failed" size="sm" />
      <span>{children}</span>
    </div>
  );
}
