import { useSuspenseQuery } from "@tanstack/react-query";
import { getRouteApi, Link, Outlet } from "@tanstack/react-router";
import { Plus } from "lucide-react";
import { useDeferredValue, useMemo } from "react";
import type { Deployment } from "@/api/client";
import { me } from "@/api/queries/common";
import { Button, buttonClass } from "@/components/Button";
import { Live, Top, useKeys, useTitle } from "@/components/Shell";
import { EmptyState, ErrorState, Skeletons } from "@/components/States";
import { Notice, stateWord } from "@/components/Status";
import { ago, clock } from "@/components/time";
import { texts } from "@/texts";
import { useLackToCreate } from "../shell/useLack";
import { FilterBar } from "./FilterBar";
import { byChange, type Filters, matching } from "./filters";
import { List } from "./List";
import { useList } from "./useList";

const route = getRouteApi("/app/deployments");

/** What is mine, what needs me, and the way to its URL. */
export function Deployments() {
  useTitle(texts.list.title);
  const { data: person } = useSuspenseQuery(me);
  const filters = route.useSearch();
  const navigate = route.useNavigate();
  const { query, live } = useList();
  const all = query.data;
  const search = useDeferredValue(filters.q);
  const shown = useMemo(
    () => matching(all ?? [], { ...filters, q: search }, person.name).sort(byChange),
    [all, filters, search, person.name],
  );
  const create = () => {
    if (person.can_create) void navigate({ to: "/deployments/new", search: {} });
  };
  useKeys({
    n: create,
    "/": () => document.querySelector<HTMLInputElement>("#find")?.focus(),
  });
  const clear = () => void navigate({ to: "/deployments", search: {} });

  return (
    <>
      <Top>
        <h1>{texts.list.title}</h1>
        <Live state={live} />
        <div className="end row">
          <CreateLink />
        </div>
      </Top>
      <OfflineNotice all={all ?? []} />
      <FilterBar read={all} filters={filters} user={person.name} />
      <div className="body" aria-busy={query.isPending}>
        {query.isError ? (
          <ErrorState
            what={texts.list.unread}
            error={query.error}
            retry={() => void query.refetch()}
            stale={all ? texts.stale(ago(query.dataUpdatedAt, Date.now())) : undefined}
          />
        ) : null}
        {query.isPending ? <Skeletons count={12} /> : null}
        {all && shown.length > 0 ? <List rows={shown} /> : null}
        {all && all.length === 0 ? <Nothing allowed={person.can_create} /> : null}
        {all && all.length > 0 && shown.length === 0 ? (
          <EmptyState
            title={texts.list.noMatchTitle}
            act={<Button onClick={clear}>{texts.list.clear}</Button>}
          >
            {texts.list.noMatch(sayFilters(filters))}
          </EmptyState>
        ) : null}
      </div>
      <Footer shown={shown.length} all={all?.length} allowed={person.can_create} />
      <Outlet />
    </>
  );
}

/** To the sheet; for who may create nowhere, dashed, with the people who can change that. */
function CreateLink() {
  const inside = (
    <>
      <Plus className="i sm" aria-hidden="true" />
      {texts.list.create} <kbd>N</kbd>
    </>
  );
  const reason = useLackToCreate();
  if (reason) return <Button reason={reason}>{inside}</Button>;
  return (
    <Link className={buttonClass("ink")} to="/deployments/new" search={{}}>
      {inside}
    </Link>
  );
}

function Nothing({ allowed }: { allowed: boolean }) {
  return (
    <EmptyState title={texts.list.emptyTitle} act={allowed ? <CreateLink /> : undefined}>
      {allowed ? texts.list.empty : texts.list.emptyRead}
    </EmptyState>
  );
}

/** One line for each machine that is out of reach and matters to what is listed. */
function OfflineNotice({ all }: { all: Deployment[] }) {
  const by = new Map<string, Deployment[]>();
  for (const one of all)
    if (one.node_offline_since && one.node) by.set(one.node, [...(by.get(one.node) ?? []), one]);
  return [...by].slice(0, 3).map(([node, hit]) => (
    <Notice
      key={node}
      state="offline"
      title={texts.list.nodeOffline(node, clock(hit[0]?.node_offline_since ?? ""))}
    >
      {texts.list.nodesOffline(hit.length)}
    </Notice>
  ));
}

function Footer({ shown, all, allowed }: { shown: number; all?: number; allowed: boolean }) {
  const keys = texts.list.keys;
  return (
    <footer className="foot hide-m">
      <span>
        <kbd>J</kbd> <kbd>K</kbd> {keys.move}
      </span>
      <span>
        <kbd>Enter</kbd> {keys.page}
      </span>
      <span>
        <kbd>O</kbd> {keys.url}
      </span>
      <span>
        <kbd>Y</kbd> {keys.copy}
      </span>
      {allowed ? (
        <span>
          <kbd>N</kbd> {keys.create}
        </span>
      ) : null}
      {all === undefined ? null : <span className="end">{texts.list.shown(shown, all)}</span>}
    </footer>
  );
}

function sayFilters(filters: Filters): string {
  return [
    filters.view ? texts.list.view[filters.view] : "",
    filters.env ?? "",
    filters.project ?? "",
    filters.state ? stateWord(filters.state) : "",
    filters.q ? `“${filters.q}”` : "",
  ]
    .filter(Boolean)
    .join(", ");
}
