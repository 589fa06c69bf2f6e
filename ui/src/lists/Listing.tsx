import { Plus } from "lucide-react";
import { useDeferredValue, useMemo } from "react";
import { Button } from "@/components/Button";
import { Top, useKeys, useTitle } from "@/components/Shell";
import { EmptyState, ErrorState, Skeletons } from "@/components/States";
import { formatAgo } from "@/components/time";
import { formTexts as t } from "@/forms/formTexts";
import { texts } from "@/texts";
import { Filters, NoMatch } from "./ListFilters";
import { Rows } from "./ListRows";
import type { ListProps } from "./listProps";
import type { ListSearch } from "./listSearch";
import { useListSearch } from "./useOpenSheet";

/** A page that lists one kind of thing, with its search, filters and all its states. */
export function Listing<T>(props: ListProps<T>) {
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
        {props.beside}
        <div className="end row">
          {props.bar}
          {act}
        </div>
      </Top>
      {props.above}
      {query.data && query.data.length > 0 ? (
        <Filters {...props} search={search} set={set} />
      ) : null}
      {/* What stands below the table does not scroll sideways or fade with it. */}
      <div className={props.below ? "body" : "body tblf"} aria-busy={query.isPending}>
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
        {shown.length > 0 ? (
          <div className={props.below ? "tblf" : undefined}>
            <Rows rows={shown} {...props} />
          </div>
        ) : null}
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

function useShown<T>({ query, text, filters = [] }: ListProps<T>, search: ListSearch): T[] {
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
