import { ENDS, splitAround } from "./names";

type Props = {
  text: string;
  search?: string;
  className?: string;
  /** What it stands in says the whole text already. */
  titled?: boolean;
};

/**
 * A tag truncated in the middle to the available width. Two builds of a branch differ in their last
 * characters, so those always show. The parent needs a definite width.
 */
export function MiddleTruncate({ text, search = "", className = "", titled }: Props) {
  const at = text.length > 2 * ENDS ? text.length - ENDS : text.length;
  const [head, tail] = splitParts(splitAround(text, search), at);
  const whole = at === text.length;
  return (
    <span
      className={`mid mono ${whole ? "" : "long"} ${className}`}
      title={titled ? undefined : text}
    >
      <span className="head">
        <Marked parts={head} />
      </span>
      {whole ? null : (
        <span className="tail">
          <Marked parts={tail} />
        </span>
      )}
    </span>
  );
}

/**
 * Splits parts at a character index; parts at odd indexes, which match the search, stay odd on both
 * sides.
 */
export function splitParts(parts: string[], at: number): [string[], string[]] {
  const head: string[] = [];
  const tail: string[] = [];
  let from = 0;
  for (const part of parts) {
    const cut = Math.max(0, Math.min(part.length, at - from));
    head.push(part.slice(0, cut));
    tail.push(part.slice(cut));
    from += part.length;
  }
  return [head, tail];
}

function Marked({ parts }: { parts: string[] }) {
  return parts.map((part, i) => (i % 2 === 1 && part ? <mark key={i}>{part}</mark> : part));
}
