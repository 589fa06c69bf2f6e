import { useMutation } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { ask, client } from "@/api/client";
import { Button } from "@/components/Button";
import { Field } from "@/components/Field";
import { describeError } from "@/components/States";
import { peopleTexts } from "@/pages/people/peopleTexts";

const t = peopleTexts.account;

/** Which grant gives what, what is missing, and who can give it. */
export function Explain() {
  const [object, setObject] = useState("");
  const explain = useMutation({
    mutationFn: () => ask(client.GET("/api/v1/me/access", { params: { query: { object } } })),
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (object.trim()) explain.mutate();
  };
  const found = explain.data;
  return (
    <section aria-label={t.access}>
      <h2>{t.access}</h2>
      <form className="form" onSubmit={submit} noValidate>
        <Field
          label={t.accessObject}
          hint={t.accessHint}
          mono
          value={object}
          error={explain.error ? describeError(explain.error).message : undefined}
          onChange={(event) => {
            setObject(event.target.value.trim());
            // What was said is of another object.
            explain.reset();
          }}
        />
        <span>
          <Button act={t.ask} type="submit">
            {t.ask}
          </Button>
        </span>
      </form>
      {found ? (
        <div className="col gap-1 py-2" role="status">
          <b>{t.levels[found.level]}</b>
          {found.because.map((reason) => (
            <span key={reason}>{reason}</span>
          ))}
          {found.missing ? (
            <span className="t2">
              {t.missing} {found.missing}. {t.askWhom(found.ask)}
            </span>
          ) : null}
        </div>
      ) : null}
    </section>
  );
}
