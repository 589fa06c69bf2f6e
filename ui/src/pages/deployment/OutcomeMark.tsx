import { Glyph } from "@/components/Glyph";
import { lookOf, StatusMark, stateWord } from "@/components/Status";
import { pageTexts } from "@/pages/deployment/pageTexts";

/** Beside a result: what became of its effects. */
export function Cleanup({ state }: { state: string }) {
  return (
    <span className="st s" data-st={lookOf(state)}>
      <Glyph state={state} size="sm" />
      {state === "failed" ? pageTexts.undoFailed : stateWord(state)}
    </span>
  );
}

/** A result, and beside it what became of its effects. */
export function OutcomeMark({ state, cleanup }: { state: string; cleanup?: string }) {
  return (
    <>
      <StatusMark state={state} />
      {cleanup ? <Cleanup state={cleanup} /> : null}
    </>
  );
}
