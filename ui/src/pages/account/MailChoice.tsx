import { useQuery } from "@tanstack/react-query";
import { useId } from "react";
import { environments, projects } from "@/api/queries/catalog";
import { Button } from "@/components/Button";
import { Field } from "@/components/Field";
import { formTexts } from "@/forms/formTexts";
import { type Source, UnreadSource } from "@/forms/UnreadSource";
import { noticeTexts, mailTexts as t } from "@/pages/webhooks/noticeTexts";
import { Events } from "../webhooks/Events";
import { nameOptions } from "../webhooks/ScopeFields";
import type { Row } from "./choices";

type Props = {
  row: Row;
  number: number;
  errors: { email?: string; events?: string };
  set: (row: Row) => void;
  remove: () => void;
};

/** One choice: which events, of what, to which address. */
export function MailChoice({ row, number, errors, set, remove }: Props) {
  const id = useId();
  const of = useQuery(projects);
  const and = useQuery(environments);
  return (
    <fieldset className="framed col gap-3 p-4" aria-label={t.choice(number)}>
      <Field
        label={t.email}
        type="email"
        autoComplete="email"
        maxLength={254}
        value={row.email}
        error={errors.email}
        onChange={(event) => set({ ...row, email: event.target.value })}
      />
      <Events chosen={row.events} set={(events) => set({ ...row, events })} error={errors.events} />
      <div className="two">
        <Pick
          label={noticeTexts.project}
          any={noticeTexts.everyProject}
          all={nameOptions(of.data, row.project)}
          source={{ what: formTexts.projectsUnread, of }}
          value={row.project}
          set={(project) => set({ ...row, project })}
        />
        <Pick
          label={noticeTexts.environment}
          any={noticeTexts.everyEnvironment}
          all={nameOptions(and.data, row.environment)}
          source={{ what: formTexts.environmentsUnread, of: and }}
          value={row.environment}
          set={(environment) => set({ ...row, environment })}
        />
      </div>
      <div className="ck">
        <input
          id={id}
          type="checkbox"
          checked={row.mine}
          onChange={(event) => set({ ...row, mine: event.target.checked })}
        />
        <label htmlFor={id}>{t.mine}</label>
      </div>
      <span>
        <Button small aria-label={t.removeOf(number)} onClick={remove}>
          {t.remove}
        </Button>
      </span>
    </fieldset>
  );
}

type PickProps = {
  label: string;
  any: string;
  all: { value: string; label: string }[];
  source: Source;
  value: string;
  set: (value: string) => void;
};

function Pick({ label, any, all, source, value, set }: PickProps) {
  const id = useId();
  return (
    <div className="field">
      <label className="lbl" htmlFor={id}>
        {label}
      </label>
      <select id={id} className="pick" value={value} onChange={(event) => set(event.target.value)}>
        <option value="">{any}</option>
        {all.map((one) => (
          <option key={one.value} value={one.value}>
            {one.label}
          </option>
        ))}
      </select>
      <UnreadSource {...source} />
    </div>
  );
}
