import { Search } from "lucide-react";
import { Button } from "@/components/Button";
import { EmptyState } from "@/components/States";
import { useTypedValue } from "@/components/useTypedValue";
import { formTexts as t } from "@/forms/formTexts";
import type { ListFilter, ListProps } from "./listProps";
import type { ListSearch } from "./listSearch";

type Searched<T> = ListProps<T> & {
  search: ListSearch;
  set: (change: ListSearch, push?: boolean) => void;
};

export function Filters<T>({ title, query, filters = [], search, set }: Searched<T>) {
  const [typed, type] = useTypedValue(search.q ?? "", (text) => set({ q: text || undefined }));
  return (
    <div className="filters">
      <div className="in sm find">
        <Search className="i sm t3" aria-hidden="true" />
        <input
          id="find"
          type="search"
          placeholder={t.search}
          aria-label={t.find(title)}
          value={typed}
          onChange={(event) => type(event.target.value)}
          onKeyDown={(event) => event.key === "Escape" && event.currentTarget.blur()}
        />
        <kbd>/</kbd>
      </div>
      {filters.map((filter) => (
        <Choice
          key={filter.key}
          filter={filter}
          rows={query.data ?? []}
          value={search[filter.key] as string | undefined}
          set={(value) => set({ [filter.key]: value })}
        />
      ))}
    </div>
  );
}

type ChoiceProps<T> = {
  filter: ListFilter<T>;
  rows: T[];
  value?: string;
  set: (value?: string) => void;
};

/** A native select: it opens as the system's own on a phone. */
function Choice<T>({ filter, rows, value, set }: ChoiceProps<T>) {
  const known = new Set(rows.flatMap((row) => filter.of(row)).filter(Boolean));
  if (value) known.add(value);
  return (
    <select
      className="btn sm"
      aria-label={filter.label}
      value={value ?? ""}
      onChange={(event) => set(event.target.value || undefined)}
    >
      <option value="">{filter.any}</option>
      {[...known].sort().map((one) => (
        <option key={one} value={one}>
          {filter.say ? filter.say(one) : one}
        </option>
      ))}
    </select>
  );
}

export function NoMatch<T>({ filters = [], search, set }: Searched<T>) {
  const said = [
    search.q ? `“${search.q}”` : "",
    ...filters.map((one) => {
      const value = search[one.key] as string | undefined;
      return value ? `${one.label} ${one.say ? one.say(value) : value}` : "";
    }),
  ];
  const cleared = Object.fromEntries(filters.map((one) => [one.key, undefined]));
  return (
    <EmptyState
      title={t.noMatchTitle}
      act={
        <Button act={t.clear} onClick={() => set({ ...cleared, q: undefined })}>
          {t.clear}
        </Button>
      }
    >
      {t.noMatch(said.filter(Boolean).join(", "))}
    </EmptyState>
  );
}
