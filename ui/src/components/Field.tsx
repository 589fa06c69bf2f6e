import { Lock } from "lucide-react";
import { type InputHTMLAttributes, type ReactNode, type Ref, useId } from "react";
import { Glyph } from "./Glyph";

type Props = InputHTMLAttributes<HTMLInputElement> & {
  label: string;
  hint?: ReactNode;
  /** What is wrong and what to do about it. */
  error?: string | null;
  after?: ReactNode;
  /** Not this person's to change; a sentence says why, and who can. It stays readable. */
  locked?: boolean | string;
  mono?: boolean;
  big?: boolean;
  ref?: Ref<HTMLInputElement>;
};

/** A labelled input with its hint and its refusal. */
export function Field({ label, error, after, locked, mono, big, ...rest }: Props) {
  const { hint: said, ...input } = rest;
  const id = useId();
  const hint = typeof locked === "string" ? locked : said;
  return (
    <div className="field">
      <label className="lbl" htmlFor={id}>
        {label}
      </label>
      <div className={`in ${error ? "err" : ""} ${big ? "big" : ""} ${locked ? "locked" : ""}`}>
        {locked ? <Lock className="i sm t3" aria-hidden="true" /> : null}
        <input
          id={id}
          autoComplete="off"
          {...input}
          readOnly={locked ? true : input.readOnly}
          // In a read-only field a placeholder would be taken for the value.
          placeholder={locked ? undefined : input.placeholder}
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
