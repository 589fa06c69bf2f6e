import { Button } from "@/components/Button";
import { EmptyState } from "@/components/States";
import { stateWord } from "@/components/Status";
import { texts } from "@/texts";
import { type Filters, isNarrowed } from "./filters";

const t = texts.list;

/** Nothing is left over: names the filters, and drops them; where there are none, leads to all. */
export function NoMatch({ filters, clear }: { filters: Filters; clear: () => void }) {
  const label = isNarrowed(filters) ? t.clear : t.showAll;
  return (
    <EmptyState
      title={t.noMatchTitle}
      act={
        <Button act={label} onClick={clear}>
          {label}
        </Button>
      }
    >
      {t.noMatch(sayFilters(filters))}
    </EmptyState>
  );
}

function sayFilters({ view, env, project, state, q }: Filters): string {
  const said = [view && t.view[view], env, project, state && stateWord(state), q && `“${q}”`];
  return said.filter(Boolean).join(", ");
}
