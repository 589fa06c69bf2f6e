import { type FormEvent, useId, useRef } from "react";
import { Button } from "@/components/Button";
import { Confirm } from "@/components/Overlay";
import { dialogTexts } from "@/editor/dialogTexts";
import { editorTexts as t } from "@/editor/editorTexts";

type Props = {
  version: number;
  /** Why it cannot be published now. */
  whyNot?: string;
  publishing: boolean;
  note: string;
  onNote: (note: string) => void;
  onClose: () => void;
  onPublish: (note?: string) => void;
};

/** Publishes with a note for the version history. */
export function PublishNote(props: Props) {
  const { version, whyNot, publishing, note, onNote, onClose, onPublish } = props;
  const id = useId();
  const form = useRef<HTMLFormElement>(null);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (!whyNot && !publishing) onPublish(note.trim() || undefined);
  };
  const acts = (
    <>
      <Button onClick={onClose}>{dialogTexts.note.cancel}</Button>
      <Button
        look="ink"
        reason={whyNot}
        busy={publishing && t.publishing}
        onClick={() => form.current?.requestSubmit()}
      >
        {t.publish(version)}
      </Button>
    </>
  );
  return (
    <Confirm open onClose={onClose} title={dialogTexts.note.title(version)} acts={acts}>
      <form ref={form} onSubmit={submit} className="field">
        <label className="lbl" htmlFor={id}>
          {dialogTexts.note.label}
        </label>
        <textarea
          id={id}
          className="area"
          rows={3}
          maxLength={500}
          value={note}
          onChange={(event) => onNote(event.target.value)}
          onKeyDown={(event) => {
            if (event.key === "Enter" && (event.ctrlKey || event.metaKey))
              form.current?.requestSubmit();
          }}
        />
        <span className="hint">{dialogTexts.note.hint}</span>
      </form>
    </Confirm>
  );
}
