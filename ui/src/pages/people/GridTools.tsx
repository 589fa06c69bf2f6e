import { Search } from "lucide-react";
import { useTypedValue } from "@/components/useTypedValue";
import { peopleTexts } from "@/pages/people/peopleTexts";
import type { GridFilter } from "./gridFilter";

const a = peopleTexts.access;

type Props = {
  filter: GridFilter;
  set: (change: GridFilter) => void;
  /** How much of everything is shown. */
  count: string;
};

/** What of the grid is shown. */
export function GridTools({ filter, set, count }: Props) {
  return (
    <div className="filters">
      <Find id="find" label={a.findTeam} value={filter.team} set={(team) => set({ team })} />
      <Find label={a.findObject} value={filter.object} set={(object) => set({ object })} />
      <select
        className="btn sm"
        aria-label={a.show}
        value={filter.show ?? "all"}
        onChange={(event) =>
          set({ show: event.target.value === "all" ? undefined : event.target.value })
        }
      >
        {Object.entries(a.shows).map(([value, label]) => (
          <option key={value} value={value}>
            {label}
          </option>
        ))}
      </select>
      <span className="s t3 end" role="status">
        {count}
      </span>
    </div>
  );
}

type FindProps = {
  id?: string;
  label: string;
  value?: string;
  set: (text?: string) => void;
};

function Find({ id, label, value = "", set }: FindProps) {
  const [typed, type] = useTypedValue(value, (text) => set(text || undefined));
  return (
    <div className="in sm find">
      <Search className="i sm t3" aria-hidden="true" />
      <input
        id={id}
        type="search"
        placeholder={label}
        aria-label={label}
        value={typed}
        onChange={(event) => type(event.target.value)}
        onKeyDown={(event) => event.key === "Escape" && event.currentTarget.blur()}
      />
    </div>
  );
}
