import { useQuery } from "@tanstack/react-query";
import { useId } from "react";
import { ask, client, type Schemas } from "@/api/client";
import { users } from "@/api/queries/people";
import { viewAs, viewAsHeader } from "@/api/viewAs";
import { Button } from "@/components/Button";
import { ErrorState, Skeletons } from "@/components/States";
import { StatusMark } from "@/components/Status";
import { useListSearch } from "@/lists/useOpenSheet";
import { peopleTexts } from "@/pages/people/peopleTexts";
import { nameOf } from "./grants";
import type { Column } from "./Matrix";
import { missingAccess, type Pair, teamsThatHelp } from "./missingAccess";

const a = peopleTexts.access;
type User = Schemas["User"];
type Team = Schemas["Team"];

/** Whether a person can create, and why or why not; who and what is in the address. */
export function AccessCheck({ columns, teams }: { columns: Column[]; teams: Team[] }) {
  const people = useQuery(users);
  const [search, set] = useListSearch();
  const person = people.data?.find((one) => one.name === search.person);
  const projects = columns.filter((one) => one.project).map(nameOf);
  const environments = columns.filter((one) => one.environment);
  const project = pick(projects, search.project);
  const environment = environments.find((one) => nameOf(one) === search.on) ?? environments[0];
  const names = (people.data ?? []).map((one) => one.name);
  return (
    <aside className="why" aria-label={a.can}>
      <h2>{a.can}</h2>
      {people.isError ? (
        <ErrorState
          what={peopleTexts.users.unread}
          error={people.error}
          retry={() => void people.refetch()}
        />
      ) : null}
      <div className="col gap-2 py-2">
        <Pick
          label={a.person}
          none={a.choose}
          all={names}
          value={person?.name}
          set={(name) => set({ person: name })}
        />
        <Pick
          label={a.create}
          all={projects}
          value={project}
          set={(name) => set({ project: name })}
        />
        <Pick
          label={a.on}
          all={environments.map(nameOf)}
          value={environment && nameOf(environment)}
          set={(name) => set({ on: name })}
        />
      </div>
      {person && project && environment ? (
        <Answer
          person={person}
          teams={teams}
          pair={{
            project,
            environment: nameOf(environment),
            restricted: environment.restricted === true,
          }}
        />
      ) : null}
      <h3>{a.readTitle}</h3>
      <p className="s t2">{a.read}</p>
    </aside>
  );
}

const pick = (all: string[], wanted: unknown) => all.find((one) => one === wanted) ?? all[0];

type PickProps = {
  label: string;
  none?: string;
  all: string[];
  value?: string;
  set: (value: string | undefined) => void;
};

function Pick({ label, none, all, value, set }: PickProps) {
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
        onChange={(event) => set(event.target.value || undefined)}
      >
        {none ? <option value="">{none}</option> : null}
        {all.map((one) => (
          <option key={one}>{one}</option>
        ))}
      </select>
    </div>
  );
}

type AnswerProps = { person: User; pair: Pair; teams: Team[] };

function Answer(props: AnswerProps) {
  const { person } = props;
  if (!person.active) return <Said yes={false}>{a.off(person.name)}</Said>;
  if (person.role === "admin") return <Said yes>{a.admin(person.name)}</Said>;
  return <Asked {...props} />;
}

/** Asked through the person's eyes, so that it is the policy itself that answers. */
const explainedFor = (person: string, object: string) => ({
  queryKey: ["access", "of", person, object],
  queryFn: () =>
    ask(
      client.GET("/api/v1/me/access", {
        params: { query: { object } },
        headers: viewAsHeader(person),
      }),
    ),
  retry: false,
});

function Asked({ person, pair, teams }: AnswerProps) {
  const of = useQuery(explainedFor(person.name, `project/${pair.project}`));
  const on = useQuery(explainedFor(person.name, `environment/${pair.environment}`));
  const again = () => {
    void of.refetch();
    void on.refetch();
  };
  const error = of.error ?? on.error;
  if (error) return <ErrorState what={a.unasked} error={error} retry={again} />;
  if (!of.data || !on.data) return <Skeletons count={2} />;
  const lack = missingAccess(pair, of.data, on.data);
  const because = [...of.data.because, ...on.data.because];
  const who = [...new Set([...of.data.ask, ...on.data.ask])];
  return (
    <>
      <Said yes={!lack}>
        {because.map((reason) => (
          <span key={reason}>{a.sentence(reason)}</span>
        ))}
        {lack ? <span>{a.lacks[lack](person.name, pair)}</span> : null}
        {lack ? (
          <span className="t2">
            {a.remedy(person, pair, lack, teamsThatHelp(person.name, teams, pair))} {a.who(who)}
          </span>
        ) : null}
      </Said>
      <span>
        <Button act={peopleTexts.users.viewAs} small onClick={() => viewAs(person.name)}>
          {peopleTexts.users.viewAs}
        </Button>
      </span>
      <p className="hint">{a.hint}</p>
    </>
  );
}

function Said({ yes, children }: { yes: boolean; children: React.ReactNode }) {
  return (
    <div className="ans" data-st={yes ? "ready" : "failed"} role="status">
      <StatusMark state={yes ? "done" : "failed"}>{yes ? a.yes : a.no}</StatusMark>
      {children}
    </div>
  );
}
