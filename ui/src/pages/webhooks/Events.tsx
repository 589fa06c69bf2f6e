import { useId } from "react";
import type { Schemas } from "@/api/client";
import { Refusal } from "@/components/Field";
import { noticeTexts as t } from "@/pages/webhooks/noticeTexts";

export type NoticeEvent = Schemas["NoticeEvent"];

export const all = Object.keys(t.events) as NoticeEvent[];

/** The chosen events with one more or one less, in the order they are shown. */
export function toggleEvent(chosen: NoticeEvent[], event: NoticeEvent, on: boolean): NoticeEvent[] {
  return all.filter((one) => (one === event ? on : chosen.includes(one)));
}

type Props = {
  chosen: NoticeEvent[];
  set: (chosen: NoticeEvent[]) => void;
  error?: string;
  hint?: string;
};

/** Check boxes for the events to send. */
export function Events({ chosen, set, error, hint }: Props) {
  const id = useId();
  return (
    <fieldset className="field">
      <legend className="lbl">{t.eventsLabel}</legend>
      <div className="two">
        {all.map((event) => (
          <div className="ck" key={event}>
            <input
              id={`${id}-${event}`}
              type="checkbox"
              checked={chosen.includes(event)}
              onChange={(change) => set(toggleEvent(chosen, event, change.target.checked))}
            />
            <label htmlFor={`${id}-${event}`}>{t.events[event]}</label>
          </div>
        ))}
      </div>
      {error ? <Refusal>{error}</Refusal> : null}
      {hint && !error ? <div className="hint">{hint}</div> : null}
    </fieldset>
  );
}
