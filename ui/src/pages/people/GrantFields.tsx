import { useQuery } from "@tanstack/react-query";
import { useId } from "react";
import { environments, projects } from "@/api/queries/catalog";
import { Refusal } from "@/components/Field";
import { UnreadSource } from "@/forms/UnreadSource";
import { peopleTexts } from "@/pages/people/peopleTexts";
import { grantLine, grantOf, nameOf, type Target, withLevel } from "./grants";

const a = peopleTexts.access;

type Props = { lines: string[]; set: (lines: string[]) => void; error?: string; locked: boolean };

const labelOf = ({ project, environment = "" }: Target) =>
  project ? a.project(project) : a.environment(environment);

/** What a team may, and on what; the same as its row of the grid. */
export function GrantFields({ lines, set, error, locked }: Props) {
  const id = useId();
  const of = useQuery({ ...projects, enabled: !locked });
  const on = useQuery({ ...environments, enabled: !locked });
  const grants = lines.map(grantOf);
  const change = (target: Target, level: string) =>
    set(withLevel(grants, target, level).map(grantLine).sort());
  const open = [
    ...(of.data ?? []).map(({ name }): Target => ({ project: name })),
    ...(on.data ?? []).map(({ name }): Target => ({ environment: name })),
  ].filter((one) => !grants.some((grant) => labelOf(grant) === labelOf(one)));
  return (
    <fieldset className="field">
      <legend className="lbl">{a.grants}</legend>
      {grants.length === 0 ? <p className="t2">{peopleTexts.teams.nothing}</p> : null}
      {grants.map((grant) => (
        <div key={labelOf(grant)} className="row">
          <span className="grow tr">{labelOf(grant)}</span>
          {locked ? (
            <span>{a.said[grant.level]}</span>
          ) : (
            <select
              className="sel"
              aria-label={a.grantLevel(nameOf(grant))}
              value={grant.level}
              onChange={(event) => change(grant, event.target.value)}
            >
              <option value="none">{a.choices.none}</option>
              <option value="read">{a.choices.read}</option>
              <option value="full">{a.choices.full}</option>
            </select>
          )}
        </div>
      ))}
      {locked || open.length === 0 ? null : (
        <select
          id={id}
          className="sel"
          aria-label={a.addGrant}
          value=""
          onChange={(event) => {
            const target = open.find((one) => labelOf(one) === event.target.value);
            if (target) change(target, "read");
          }}
        >
          <option value="">{a.addGrant}</option>
          {open.map((one) => (
            <option key={labelOf(one)}>{labelOf(one)}</option>
          ))}
        </select>
      )}
      {error ? <Refusal>{error}</Refusal> : null}
      <UnreadSource
        what={of.error ? a.projectsUnread : a.environmentsUnread}
        of={of.error ? of : on}
      />
    </fieldset>
  );
}
