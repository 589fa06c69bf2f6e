import { useMutation } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { ApiError, ask, client, type Schemas } from "@/api/client";
import { Button } from "@/components/Button";
import { Refusal } from "@/components/Field";
import { describeError } from "@/components/States";
import { useToast } from "@/components/Toast";
import { ifMatch, type Tagged } from "@/forms/etag";
import { formTexts } from "@/forms/formTexts";
import { mailTexts as t } from "@/pages/webhooks/noticeTexts";
import { addRow, bodyOf, fieldOf, findProblems, MOST, type Row, rowsOf } from "./choices";
import { MailChoice } from "./MailChoice";

type Props = { stored: Tagged<Schemas["Notifications"]>; reload: () => void };

/** The choices of what a person is mailed; all are saved at once. */
export function Mail({ stored, reload }: Props) {
  const say = useToast();
  const [rows, setRows] = useState<Row[]>(() => rowsOf(stored.value.choices));
  const [own, setOwn] = useState<Record<string, string>>({});
  const save = useMutation({
    mutationFn: () =>
      ask(
        client.PUT("/api/v1/me/notifications", {
          headers: ifMatch(stored.tag),
          body: bodyOf(rows),
        }),
      ),
    onSuccess: () => {
      say("done", t.saved);
      reload();
    },
  });
  const set = (next: Row[]) => {
    setRows(next);
    setOwn({});
    if (save.error) save.reset();
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const found = findProblems(rows);
    setOwn(found);
    if (Object.keys(found).length === 0 && !save.isPending) save.mutate();
  };
  const errors = { ...told(save.error), ...own };
  const same = JSON.stringify(rows) === JSON.stringify(rowsOf(stored.value.choices));
  return (
    <form className="form" onSubmit={submit} noValidate>
      {rows.length === 0 ? <p className="t2">{t.none}</p> : null}
      {rows.map((row, at) => (
        <MailChoice
          key={row.id}
          row={row}
          number={at + 1}
          errors={{ email: errors[`${at}.email`], events: errors[`${at}.events`] }}
          set={(next) => set(rows.map((one) => (one.id === row.id ? next : one)))}
          remove={() => set(rows.filter((one) => one.id !== row.id))}
        />
      ))}
      <span className="row">
        <Button
          act={t.add}
          reason={rows.length >= MOST ? t.most : undefined}
          onClick={() => set(addRow(rows))}
        >
          {t.add}
        </Button>
        <Button
          act={t.save}
          type="submit"
          look="ink"
          reason={same ? t.same : undefined}
          busy={save.isPending && formTexts.saving}
        >
          {t.save}
        </Button>
      </span>
      <Refused error={save.error} reload={reload} />
    </form>
  );
}

/** A refusal that belongs to one field of one choice. */
function told(error: unknown): Record<string, string> {
  const at = error instanceof ApiError ? fieldOf(error.problem.field) : undefined;
  return at ? { [at]: describeError(error).message } : {};
}

function Refused({ error, reload }: { error: unknown; reload: () => void }) {
  if (!error || Object.keys(told(error)).length > 0) return null;
  if (!(error instanceof ApiError) || error.problem.code !== "changed_meanwhile")
    return <Refusal>{describeError(error).message}</Refusal>;
  return (
    <>
      <Refusal>{t.changed}</Refusal>
      <span>
        <Button small onClick={reload}>
          {t.readAgain}
        </Button>
      </span>
    </>
  );
}
