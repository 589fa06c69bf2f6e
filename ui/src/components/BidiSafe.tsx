import { Fragment } from "react";
import { parseAnsi } from "./ansi";

/**
 * Untrusted text: control characters are made visible, and its writing direction is isolated from
 * the text around it.
 */
export function BidiSafe({ text }: { text: string }) {
  const lines = text.split("\n");
  return (
    <bdi>
      {lines.map((line, i) => (
        <Fragment key={i}>
          {i > 0 ? "\n" : ""}
          {parseAnsi(line).map((span, j) => (
            <span key={j} className={span.cls || undefined}>
              {span.text}
            </span>
          ))}
        </Fragment>
      ))}
    </bdi>
  );
}
