import { Button } from "@/components/Button";
import { Confirm } from "@/components/Overlay";
import { editorTexts as t } from "@/editorTexts";

type Props = { changes: number; version: number; onClose: () => void; onDiscard: () => void };

/** What is lost, and how it comes back. */
export function Discard({ changes, version, onClose, onDiscard }: Props) {
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
      <p>{t.discardBody(changes, version)}</p>
    </Confirm>
  );
}
