import type { UseQueryResult } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Plus, Search } from "lucide-react";
import { type ReactNode, useDeferredValue, useMemo } from "react";
import { Button } from "@/components/Button";
import { Top, useKeys, useTitle } from "@/components/Shell";
import { EmptyState, ErrorState, Skeletons } from "@/components/States";
import { formatAgo } from "@/components/time";
import { useTypedValue } from "@/components/useTypedValue";
import { formTexts as t } from "@/forms/formTexts";
import { texts } from "@/texts";
import type { ListSearch } from "./listSearch";
import { useListSearch } from "./useOpenSheet";

export type Column<T> = {
  head: string;
  cell: (row: T) => ReactNode;
  /** Left out below 1180 px, where columns have no room. */
  wide?: boolean;
  /** Numbers stand at the right. */
  right?: boolean;
};

/** A select above the list. Its key is its URL parameter. */
export type ListFilter<T> = {
  key: string;
  label: string;
  any: string;
  of: (row: T) => string | string[];
  say?: (value: string) => string;
};

type Props<T> = {
  title: string;
  query: UseQueryResult<T[]>;
  rowKey: (row: T) => string;
  columns: Column<T>[];
  /** The text that the search looks in. */
  text: (row: T) => string;
  filters?: ListFilter<T>[];
  unread: string;
  emptyTitle: string;
  empty: ReactNode;
  /** The page's one act. With a reason it is shown as not possible, and why. */
  add?: { label: string; run: () => void; reason?: string };
  /** More in the bar above: "Live", a second act. */
  bar?: ReactNode;
  /** Between the bar and the filters: tabs, a notice. */
  above?: ReactNode;
  /** Below the rows, or what stands in their place: what belongs to the page and is none of them. */
  below?: ReactNode;
  /** Below the list: sheets and questions. */
  children?: ReactNode;
};

/** A page that lists one kind of thing, with its search, filters and all its states. */
export function Listing<T>(props: Props<T>) {
  const { title, query, add } = props;
  useTitle(title);
  useListKeys(add);
  const [search, set] = useListSearch();
  const shown = useShown(props, search);
  const act = add ? <AddButton add={add} /> : null;
  return (
    <>
      <Top>
        <h1>{title}</h1>
        <div className="end row">
          {props.bar}
          {act}
        </div>
      </Top>
      {props.above}
      {query.data && query.data.length > 0 ? (
        <Filters {...props} search={search} set={set} />
      ) : null}
      <div className="body tblf" aria-busy={query.isPending}>
        {query.isError ? (
          <ErrorState
            what={props.unread}
            error={query.error}
            retry={() => void query.refetch()}
            stale={query.data ? texts.stale(formatAgo(query.dataUpdatedAt, Date.now())) : undefined}
          />
        ) : null}
        {query.isPending ? <Skeletons count={8} /> : null}
        {query.data?.length === 0 ? (
          <EmptyState title={props.emptyTitle} act={act}>
            {props.empty}
          </EmptyState>
        ) : null}
        {shown.length > 0 ? <Rows rows={shown} {...props} /> : null}
        {query.data && query.data.length > 0 && shown.length === 0 ? (
          <NoMatch {...props} search={search} set={set} />
        ) : null}
        {props.below}
      </div>
      {query.data && query.data.length > 0 ? (
        <footer className="foot">{t.shown(shown.length, query.data.length)}</footer>
      ) : null}
      {props.children}
    </>
  );
}

function useListKeys(add?: { run: () => void; reason?: string }) {
  useKeys({
    "/": () => document.querySelector<HTMLInputElement>("#find")?.focus(),
    n: () => (add && !add.reason ? add.run() : undefined),
  });
}

function useShown<T>({ query, text, filters = [] }: Props<T>, search: ListSearch): T[] {
  const q = useDeferredValue(search.q)?.toLowerCase();
  return useMemo(
    () =>
      (query.data ?? []).filter(
        (row) =>
          (!q || text(row).toLowerCase().includes(q)) &&
          filters.every((one) => {
            const wanted = search[one.key];
            return !wanted || [one.of(row)].flat().includes(String(wanted));
          }),
      ),
    [query.data, q, text, filters, search],
  );
}

function AddButton({ add }: { add: { label: string; run: () => void; reason?: string } }) {
  return (
    <Button look="ink" reason={add.reason} onClick={add.run}>
      <Plus className="i sm" aria-hidden="true" />
      {add.label} <kbd>N</kbd>
    </Button>
  );
}

type Searched<T> = Props<T> & {
  search: ListSearch;
  set: (change: ListSearch, push?: boolean) => void;
};

function Filters<T>({ title, query, filters = [], search, set }: Searched<T>) {
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

function Rows<T>({ rows, columns, rowKey }: { rows: T[] } & Props<T>) {
  const look = (column: Column<T>) =>
    [column.wide && "wide", column.right && "num"].filter(Boolean).join(" ") || undefined;
  return (
    <table className="tbl">
      <thead>
        <tr>
          {columns.map((column) => (
            <th key={column.head} className={look(column)}>
              {column.head}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={rowKey(row)}>
            {columns.map((column) => (
              <td key={column.head} className={look(column)}>
                {column.cell(row)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** The name of an entry, as a link that opens its sheet. */
export function OpenLink({ name, children }: { name: string; children?: ReactNode }) {
  return (
    <Link
      to="."
      search={
        ((before: ListSearch) => ({
          ...before,
          open: name,
          add: undefined,
          sheet: undefined,
        })) as never
      }
      className="hover:underline"
    >
      <b>{children ?? name}</b>
    </Link>
  );
}

function NoMatch<T>({ filters = [], search, set }: Searched<T>) {
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
