import type { ReactNode } from "react";
import { Button } from "@/components/Button";
import { StatusMark } from "@/components/Status";
import { createTexts } from "@/pages/create/createTexts";
import { countRefusals, type Refusal } from "./refusal";

const t = createTexts;

type Props = {
  refusal: Refusal;
  /** What the checks say would be refused. */
  stops: string[];
  template: ReactNode;
  busy: boolean;
  /** Why nothing can be made, as long as nothing else is to be mended. */
  reason?: string;
  submit: () => void;
};

/** What stands in the way, and the acts. */
export function FormFooter({ refusal, stops, template, busy, reason, submit }: Props) {
  const count = countRefusals(refusal) || stops.length;
  return (
    <>
      {count > 0 ? (
        <span className="row min-w-0" role="status">
          <StatusMark state="failed">{t.mend(count)}</StatusMark>
          <span className="t2 tr">
            {refusal.rest[0] ??
              refusal.name ??
              refusal.deadline ??
              Object.values(refusal.versions)[0] ??
              stops[0]}
          </span>
        </span>
      ) : reason ? (
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
