import { Glyph } from "@/components/Glyph";

export type Change = "added" | "changed" | "removed";
/** What the canvas marks a step with: its change, a passed dry run, or a conflict. */
export type Mark = Change | "passes" | "clash";

/** What came, went and became another, without colour. */
export const CHANGE_SIGNS: Record<Change, string> = { added: "+", changed: "≠", removed: "−" };

/** The sign of a change. The word stands beside it, or is said by `word`. */
export function ChangeBadge({ mark, word }: { mark: Change | "clash"; word?: string }) {
  return (
    <span className="sgn" data-mark={mark} title={word}>
      <span aria-hidden="true">
        {mark === "clash" ? <Glyph state="stuck" size="sm" /> : CHANGE_SIGNS[mark]}
      </span>
      {word ? <span className="vh">{word}</span> : null}
    </span>
  );
}
