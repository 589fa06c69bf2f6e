import { Lock } from "lucide-react";
import { type FormEvent, type ReactNode, useContext, useId, useRef, useState } from "react";
import { Button } from "@/components/Button";
import { CopyButton } from "@/components/Copy";
import { Refusal } from "@/components/Field";
import { AskSlot, isLack } from "@/components/lack";
import { isName } from "@/components/names";
import { Confirm, Sheet } from "@/components/Overlay";
import { useNarrow } from "@/components/Shell";
import { formTexts as t } from "@/forms/formTexts";
import { texts } from "@/texts";
import { ConflictBox } from "./ConflictBox";
import { ReadOnly } from "./Fields";
import { Origin } from "./Origin";
import type { Form, Values } from "./useForm";
import { useLeaveGuard } from "./useLeaveGuard";

type Props<V extends Values> = {
  title: string;
  /** The name of what is changed, where the title says more than that. */
  named?: string;
  form: Form<V>;
  onClose: () => void;
  /** The word on the ink button and the one while it works: "Create", "Creating…". */
  submit?: string;
  busy?: string;
  /** Why nothing can be saved now. */
  reason?: string;
  /** Why nothing here is this person's to change, and who can give that: the fields are only to be read. */
  locked?: string;
  /** Something in the sheet that is saved apart from its form is not saved yet. */
  alsoDirty?: boolean;
  /** At the left of the foot: Delete, Test. */
  extra?: ReactNode;
  /** A column at the right: previews, live matches. Makes the sheet wide. */
  side?: ReactNode;
  /** Where there is no room for a column, it stands above the fields: it is what the sheet is opened for. */
  sideFirst?: boolean;
  children: ReactNode;
};

/**
 * A sheet with one form. Ctrl Enter saves; leaving with unsaved changes asks first, also on Back.
 */
export function FormSheet<V extends Values>(props: Props<V>) {
  const { title, form, onClose, extra, side, locked, children } = props;
  const above = useNarrow(720) && props.sideFirst;
  const waits = form.meanwhile?.undecided.length ?? 0;
  const reason = locked ?? props.reason ?? (waits > 0 ? t.meanwhile.undecided(waits) : undefined);
  // Names are pasted into pipelines, scripts and chats. "Add a rule" is a title, and no name.
  const name = props.named ?? (isName(title) ? title : undefined);
  const id = useId();
  const ask = useContext(AskSlot);
  const [leaving, setLeaving] = useState(false);
  const first = useRef<HTMLElement>(null);
  const dirty = form.dirty || props.alsoDirty;
  const stay = () => {
    // Whether it was saved is not known yet, and a refusal has to be seen.
    if (form.busy) return true;
    if (dirty) setLeaving(true);
    return Boolean(dirty);
  };
  useLeaveGuard(stay);
  const close = () => {
    if (!stay()) onClose();
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (!reason) form.submit();
  };
  const foot = (
    <>
      {extra}
      <div className="row end">
        <Button onClick={close}>{texts.close}</Button>
        <Button
          act={props.submit ?? t.save}
          look="ink"
          type="submit"
          form={id}
          reason={reason}
          busy={form.busy && (props.busy ?? t.saving)}
        >
          {props.submit ?? t.save} <kbd>Ctrl Enter</kbd>
        </Button>
      </div>
    </>
  );
  const body = (
    <form
      id={id}
      ref={(made) => {
        first.current = made?.querySelector("input, select, textarea") ?? null;
      }}
      className="form grow"
      onSubmit={submit}
      onKeyDown={(event) => {
        // Keys of a question that lies above the sheet bubble here too, though it is not in the form.
        const within = event.currentTarget.contains(event.target as Node);
        if (within && event.key === "Enter" && (event.ctrlKey || event.metaKey)) submit(event);
      }}
      noValidate
    >
      {locked ? (
        <p className="box t2">
          <Lock className="i sm mt-0.5" aria-hidden="true" />
          <span className="grow">{locked}</span>
          {isLack(locked) ? ask(locked) : null}
        </p>
      ) : null}
      <Origin />
      <ReadOnly value={locked !== undefined}>{children}</ReadOnly>
      <SaveFailure form={form} />
    </form>
  );
  const beside = side ? (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, and must do so by keys too.
    <section className="side2" tabIndex={0} aria-label={t.beside}>
      {side}
    </section>
  ) : null;
  return (
    <Sheet
      open
      narrow={!side}
      onClose={close}
      title={title}
      head={name ? <CopyButton text={name} what={t.theName} /> : undefined}
      foot={foot}
      focus={first}
    >
      {side ? (
        <div className="sg">
          {above ? beside : null}
          {body}
          {above ? null : beside}
        </div>
      ) : (
        body
      )}
      <Leave open={leaving} stay={() => setLeaving(false)} leave={onClose} />
    </Sheet>
  );
}

/** Why a save failed: a concurrent save, or a refusal that belongs to no field. */
export function SaveFailure<V extends Values>({ form }: { form: Form<V> }) {
  if (form.meanwhile) return <ConflictBox form={form} meanwhile={form.meanwhile} />;
  if (form.conflict)
    return (
      <div className="box" data-st="warn" role="alert">
        {t.conflicts[form.conflict]}
      </div>
    );
  if (!form.refused) return null;
  return (
    <div className="col gap-1">
      <Refusal>
        {t.notSaved} {form.refused.message}
      </Refusal>
      {form.refused.request ? (
        <span className="s t3 mono">{texts.request(form.refused.request)}</span>
      ) : null}
    </div>
  );
}

function Leave({ open, stay, leave }: { open: boolean; stay: () => void; leave: () => void }) {
  const acts = (
    <>
      <Button onClick={stay}>{t.stay}</Button>
      <Button look="danger" onClick={leave}>
        {t.leave}
      </Button>
    </>
  );
  return (
    <Confirm open={open} onClose={stay} title={t.leaveTitle} acts={acts}>
      <p>{t.leaveBody}</p>
    </Confirm>
  );
}
