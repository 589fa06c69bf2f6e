import type { MouseEvent, ReactNode } from "react";
import { Button } from "@/components/Button";
import { StatusMark } from "@/components/Status";
import { createTexts } from "@/pages/create/createTexts";

const t = createTexts;

type Props = {
  /** How many things stand in the way. Each is said where it can be mended, so not here. */
  count: number;
  template: ReactNode;
  busy: boolean;
  /** Why nothing can be made, as long as nothing else is to be mended. */
  reason?: string;
  /** The reason stands in the sheet already. */
  said: boolean;
  submit: () => void;
};

/** The acts, and the way to the first thing that stands in theirs. */
export function FormFooter({ count, template, busy, reason, said, submit }: Props) {
  return (
    <>
      {count > 0 ? (
        <span className="row min-w-0" role="status">
          <StatusMark state="failed">
            <button type="button" className="link" onClick={showFirst}>
              {t.mend(count)}
            </button>
          </StatusMark>
        </span>
      ) : reason && !said ? (
        <span className="s t2" role="status">
          {reason}
        </span>
      ) : null}
      <div className="row end shrink-0">
        {template}
        <Button act={t.submit} look="ink" reason={reason} busy={busy && t.busy} onClick={submit}>
          {t.submit} <kbd>Ctrl Enter</kbd>
        </Button>
      </div>
    </>
  );
}

/** What is wrong, in the order in which the sheet is read. */
const WRONG = '[aria-invalid="true"], button.in.err, .box[data-st="failed"]';

function showFirst({ currentTarget }: MouseEvent<HTMLElement>) {
  const first = currentTarget.closest('[role="dialog"]')?.querySelector<HTMLElement>(WRONG);
  first?.scrollIntoView({ block: "center" });
  first?.focus({ preventScroll: true });
}
