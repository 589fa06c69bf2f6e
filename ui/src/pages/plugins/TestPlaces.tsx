import { useQuery } from "@tanstack/react-query";
import { useId } from "react";
import type { Schemas } from "@/api/client";
import { secrets as secretsOf } from "@/api/queries/admin";
import { environments, projects } from "@/api/queries/catalog";
import { ErrorState } from "@/components/States";
import { UnreadSource } from "@/forms/UnreadSource";
import { secretTexts, pluginTexts as t } from "@/pages/catalogTexts";
import type { Given } from "./testPipeline";

type Plugin = Schemas["Plugin"];

export type Place = { project?: string; environment?: string };
export type Where = ReturnType<typeof usePlaces>;

/** Where it can run, and which secrets are there; the first of each until another is chosen. */
export function usePlaces(chosen: Place) {
  const of = useQuery(projects);
  const on = useQuery(environments);
  const project = chosen.project ?? of.data?.[0]?.name;
  const environment = chosen.environment ?? on.data?.[0]?.name;
  const sealed = useQuery(secretsOf(project ?? ""));
  const secrets = sealed.data?.map((one) => one.name) ?? [];
  const pending = of.isPending || on.isPending;
  const reason = project && environment ? undefined : pending ? t.trialReading : t.trialNowhere;
  return { of, on, sealed, project, environment, secrets, reason };
}

export function Places({
  where,
  place,
  set,
}: {
  where: Where;
  place: Place;
  set: (to: Place) => void;
}) {
  const error = where.of.error ?? where.on.error;
  const again = () => void Promise.all([where.of.refetch(), where.on.refetch()]);
  if (error) return <ErrorState what={t.trialUnread} error={error} retry={again} />;
  return (
    <div className="two">
      <Choice
        label={t.trialProject}
        hint={t.trialProjectHint}
        all={where.of.data?.map((one) => one.name) ?? []}
        value={where.project}
        set={(project) => set({ ...place, project })}
      />
      <Choice
        label={t.trialEnvironment}
        all={where.on.data?.map((one) => one.name) ?? []}
        value={where.environment}
        set={(environment) => set({ ...place, environment })}
      />
    </div>
  );
}

type SecretsProps = { plugin: Plugin; where: Where; given: Given; set: (given: Given) => void };

/** What the plugin reads as secrets: the project's are chosen by name, none is ever typed here. */
export function Secrets({ plugin, where, given, set }: SecretsProps) {
  const reads = plugin.component.secrets ?? [];
  if (reads.length === 0) return null;
  return (
    <>
      {reads.map(({ name, description, required }) => (
        <Choice
          key={name}
          label={required ? name : t.trialMay(name)}
          hint={description}
          none={t.trialNoSecret}
          all={where.secrets}
          value={given.secrets[name]}
          set={(secret) => set({ ...given, secrets: { ...given.secrets, [name]: secret } })}
        />
      ))}
      <UnreadSource what={secretTexts.unread} of={where.sealed} />
    </>
  );
}

type ChoiceProps = {
  label: string;
  hint?: string;
  none?: string;
  all: string[];
  value?: string;
  set: (value: string) => void;
};

function Choice({ label, hint, none, all, value, set }: ChoiceProps) {
  const id = useId();
  return (
    <div className="field">
      <label className="lbl" htmlFor={id}>
        {label}
      </label>
      <select
        id={id}
        className="pick"
        value={value ?? ""}
        aria-describedby={hint ? `${id}-more` : undefined}
        onChange={(event) => set(event.target.value)}
      >
        {none ? <option value="">{none}</option> : null}
        {all.map((one) => (
          <option key={one}>{one}</option>
        ))}
      </select>
      {hint ? (
        <div className="hint" id={`${id}-more`}>
          {hint}
        </div>
      ) : null}
    </div>
  );
}
