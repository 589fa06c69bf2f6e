import { parseAnsi } from "./ansi";

/** A text that others wrote: no control character in it acts on the page. */
export function Safe({ text }: { text: string }) {
  const lines = text.split("\n");
  return lines.map((line, i) => (
    <span key={i}>
      {i > 0 ? "\n" : ""}
      {parseAnsi(line).map((span, j) => (
        <span key={j} className={span.cls || undefined}>
          {span.text}
        </span>
      ))}
    </span>
  ));
}
