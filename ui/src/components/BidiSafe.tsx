import { Fragment } from "react";
import { parseAnsi } from "./ansi";

/**
 * A text that others wrote: no control character in it acts on the page, and the direction that its
 * letters are written in changes nothing around it.
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
