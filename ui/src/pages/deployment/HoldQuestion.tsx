import { useState } from "react";
import { ApiError, type Deployment } from "@/api/client";
import { Button } from "@/components/Button";
import { Field, Refusal } from "@/components/Field";
import { Confirm } from "@/components/Overlay";
import { describeError } from "@/components/States";
import { dayOf } from "@/components/time";
import { deployTexts } from "@/pages/deployTexts";
import { texts } from "@/texts";
import { endOfDay, isEnd, LAST_DAY } from "./holdEnd";
import type { LifeAct } from "./useLifetime";

const t = deployTexts.life;

type Props = { deployment: Deployment; open: boolean; close: () => void; act: LifeAct };

/** Asks why it is kept, which others will read, and until when. A refusal is said where it is mended. */
export function HoldQuestion({ deployment, open, close, act }: Props) {
  const [reason, setReason] = useState("");
  const [until, setUntil] = useState("");
  // While a year is typed it is in the past: said is it once the field is left.
  const [left, setLeft] = useState(false);
  const wrong = until && !isEnd(until) ? t.untilWrong : undefined;
  const refused = refusalOf(act);
  const mend = (change: () => void) => {
    change();
    if (act.isError) act.reset();
  };
  const leave = () => {
    if (act.isError) act.reset();
    close();
  };
  const acts = (
    <>
      <Button onClick={leave}>{texts.close}</Button>
      <Button
        look="ink"
        reason={reason.trim() ? wrong : t.reasonMissing}
        busy={act.isPending && t.holding}
        onClick={() => act.mutate({ kind: "hold", reason, until: endOfDay(until) })}
      >
        {t.hold}
      </Button>
    </>
  );
  return (
    <Confirm open={open} onClose={leave} title={t.holdTitle(deployment.name)} acts={acts}>
      <p>{t.holdBody}</p>
      <Field
        label={t.reason}
        value={reason}
        maxLength={500}
        error={refused.reason}
        onChange={(event) => mend(() => setReason(event.target.value))}
      />
      <Field
        label={t.until}
        type="date"
        value={until}
        min={dayOf(new Date())}
        max={LAST_DAY}
        error={refused.until ?? (left ? wrong : undefined)}
        onBlur={() => setLeft(true)}
        onChange={(event) => mend(() => setUntil(event.target.value))}
      />
      {refused.rest ? <Refusal>{refused.rest}</Refusal> : null}
    </Confirm>
  );
}

type Refused = { reason?: string; until?: string; rest?: string };

/** What the API refused of a hold, by the field it names. */
function refusalOf({ error, variables }: LifeAct): Refused {
  if (!error || variables?.kind !== "hold") return {};
  const { message } = describeError(error);
  const field = error instanceof ApiError ? error.problem.field : undefined;
  return field === "reason" || field === "until" ? { [field]: message } : { rest: message };
}
