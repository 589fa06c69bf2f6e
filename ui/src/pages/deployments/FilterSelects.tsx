import { useQuery } from "@tanstack/react-query";
import { X } from "lucide-react";
import type { Deployment } from "@/api/client";
import { ENDED_STATES, shownState } from "@/api/deploymentState";
import { environments, projects } from "@/api/queries/catalog";
import { Button } from "@/components/Button";
import { stateWord } from "@/components/Status";
import { texts } from "@/texts";
import { type Filters, isNarrowed } from "./filters";
import { type Grouping, groupings } from "./listOrder";

const t = texts.list;
/** The catalogue changes seldom, and what is listed is offered at once. */
const calm = { staleTime: 60_000 };

type Props = {
  filters: Filters;
  /** The listed deployments, which may name deleted projects or environments. */
  listed: Deployment[];
  set: (change: Partial<Filters>) => void;
};

/** What each view can be narrowed by, and the way back. */
export function FilterSelects({ filters, listed, set }: Props) {
  const places = useQuery({ ...environments, ...calm }).data ?? [];
  const drawn = useQuery({ ...projects, ...calm }).data ?? [];
  const states = filters.view === "removed" ? ENDED_STATES : listed.map(shownState);
  const clear = () => set({ env: undefined, project: undefined, state: undefined, q: undefined });
  return (
    <div className="row choices">
      <Choice
        label={t.environment}
        any={t.anyEnvironment}
        value={filters.env}
        values={[...listed.map((d) => d.environment), ...places.map((one) => one.name)]}
        set={(env) => set({ env })}
      />
      <Choice
        label={t.project}
        any={t.anyProject}
        value={filters.project}
        values={[...listed.map((d) => d.project), ...drawn.map((one) => one.name)]}
        set={(project) => set({ project })}
      />
      <Choice
        label={t.state}
        any={t.anyState}
        value={filters.state}
        values={states}
        say={stateWord}
        set={(state) => set({ state })}
      />
      {filters.view === "removed" ? null : (
        <Choice
          label={t.group}
          any={t.groupings.state}
          value={filters.group}
          values={[...groupings]}
          say={(value) => t.groupings[value as Grouping]}
          set={(group) => set({ group: group as Grouping })}
        />
      )}
      {isNarrowed(filters) ? (
        <Button act={t.clear} small look="ghost" onClick={clear}>
          <X className="i sm" aria-hidden="true" />
          {t.clear}
        </Button>
      ) : null}
    </div>
  );
}

type ChoiceProps = {
  label: string;
  any: string;
  value?: string;
  values: string[];
  say?: (value: string) => string;
  set: (value?: string) => void;
};

function Choice({ label, any, value, values, say = (text) => text, set }: ChoiceProps) {
  const known = [...new Set([...values, ...(value ? [value] : [])])].sort();
  return (
    <select
      className="btn sm"
      aria-label={label}
      value={value ?? ""}
      onChange={(event) => set(event.target.value || undefined)}
    >
      <option value="">{any}</option>
      {known.map((one) => (
        <option key={one} value={one}>
          {say(one)}
        </option>
      ))}
    </select>
  );
}
