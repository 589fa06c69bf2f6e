import { ErrorState, Skeletons } from "@/components/States";
import { versionTexts } from "@/editor/compare/versionTexts";
import { editorTexts } from "@/editor/editorTexts";
import { ChangeList } from "./ChangeList";
import type { Comparing } from "./useComparison";

const t = editorTexts.panel;

type Props = {
  base: number;
  comparing: Comparing;
  onShow: (step: string) => void;
  onCompare: (version: number) => void;
};

/** What is drawn against a version: the canvas marks the same. */
export function Changes({ base, comparing, onShow, onCompare }: Props) {
  const { shown, differs, number } = comparing;
  const any = differs || number !== base || (shown?.changes.length ?? 0) > 0;
  return (
    <>
      {base > 0 ? <Against base={base} number={number} onCompare={onCompare} /> : null}
      {comparing.error ? (
        <ErrorState what={versionTexts.unread} error={comparing.error} retry={comparing.retry} />
      ) : null}
      {!shown && !comparing.error ? <Skeletons count={2} /> : null}
      {any ? null : <p className="t3 p-4">{t.noChanges}</p>}
      {shown && any ? (
        <ChangeList changes={shown.changes} asides={shown.asides} onShow={onShow} />
      ) : null}
    </>
  );
}

type AgainstProps = { base: number; number: number; onCompare: (version: number) => void };

function Against({ base, number, onCompare }: AgainstProps) {
  return (
    <label className="row s px-4 pt-2">
      {t.against}
      <select
        className="sel"
        value={number}
        onChange={(event) => onCompare(Number(event.target.value))}
      >
        {versionNumbers(Math.max(base, number)).map((one) => (
          <option key={one} value={one}>
            {one === base ? t.drawnOn(one) : t.runs(one)}
          </option>
        ))}
      </select>
    </label>
  );
}

/** Versions are numbered without a gap, and none is ever removed. */
export function versionNumbers(newest: number): number[] {
  return Array.from({ length: newest }, (_, i) => newest - i);
}
