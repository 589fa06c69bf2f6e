import { Button } from "@/components/Button";
import { Confirm } from "@/components/Overlay";
import { changeTexts as t } from "@/editor/compare/changeTexts";
import { isEmptyDiff } from "./layoutDiff";
import type { Difference } from "./useComparison";

type Props = { lost: Difference; version: number; onClose: () => void; onDiscard: () => void };

/** What is lost, and how it comes back. */
export function DiscardDialog({ lost, version, onClose, onDiscard }: Props) {
  const acts = (
    <>
      <Button onClick={onClose}>{t.keep}</Button>
      <Button look="danger" onClick={onDiscard}>
        {t.discardYes}
      </Button>
    </>
  );
  return (
    <Confirm open onClose={onClose} title={t.discardTitle} acts={acts}>
      <p>{t.discardBody(lostText(lost), version)}</p>
    </Confirm>
  );
}

function lostText({ changes, asides }: Difference): string {
  const steps = changes.length > 0 ? [t.stepChanges(changes.length)] : [];
  const others = isEmptyDiff(asides) ? [] : [t.asides(asides)];
  return [...steps, ...others].join(", ");
}
