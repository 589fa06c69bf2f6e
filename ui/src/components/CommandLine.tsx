import type { ReactNode } from "react";
import { CopyButton } from "./Copy";

type Props = {
  /** What the line is for; without it the line stands for itself. */
  label?: string;
  line: string;
  /** What the button says that it copies. */
  what: string;
  hint?: ReactNode;
};

/** A line to run or paste elsewhere, with a button that copies it. */
export function CommandLine({ label, line, what, hint }: Props) {
  return (
    <div className="field">
      {label ? <span className="lbl">{label}</span> : null}
      <div className="codebox">
        <pre>{line}</pre>
        <CopyButton text={line} what={what} />
      </div>
      {hint ? <span className="hint">{hint}</span> : null}
    </div>
  );
}
