import { useDeferredValue, useMemo } from "react";
import type { Deployment } from "@/api/client";
import { Button } from "@/components/Button";
import { PageSkeleton } from "@/components/PageSkeleton";
import { LiveBadge, Top, useKeys, useTitle } from "@/components/Shell";
import { EmptyState, ErrorState } from "@/components/States";
import { formatAgo } from "@/components/time";
import { useListSearch } from "@/lists/useOpenSheet";
import { urlTexts as t } from "@/pages/urls/urlTexts";
import { texts } from "@/texts";
import type { Group } from "../deployments/filters";
import { CutNotice } from "../deployments/ListNotices";
import { MovedNotice } from "../deployments/MovedNotice";
import { useRowHold } from "../deployments/rowHold";
import { SearchField } from "../deployments/SearchField";
import { useHoverHold } from "../deployments/useHoverHold";
import { useList } from "../deployments/useList";
import { Cards } from "./Cards";
import { filterDeployments, sayFilters } from "./filters";

/** What can be opened: state, versions and who made it. Made for a phone, good on a desk. */
export function Urls() {
  useTitle(t.title);
  const { query, live } = useList();
  const [search] = useListSearch();
  const q = useDeferredValue(search.q);
  const { env, ready } = search;
  const shown = useMemo(
    () => filterDeployments(query.data ?? [], { q, env, ready }),
    [query.data, q, env, ready],
  );
  useKeys({ "/": () => document.querySelector<HTMLInputElement>("#find")?.focus() });
  return (
    <>
      <Top>
        <h1>{t.title}</h1>
        <LiveBadge state={live} />
      </Top>
      <CutNotice count={query.data?.length ?? 0} />
      <Filters all={query.data ?? []} />
      <div className="body" aria-busy={query.isPending}>
        {query.isError ? (
          <ErrorState
            what={t.unread}
            error={query.error}
            retry={() => void query.refetch()}
            stale={query.data ? texts.stale(formatAgo(query.dataUpdatedAt, Date.now())) : undefined}
          />
        ) : null}
        {query.isPending ? <PageSkeleton shape="cards" /> : null}
        {query.data && shown.length === 0 ? <None /> : null}
        {shown.length > 0 ? <Held shown={shown} view={JSON.stringify({ q, env, ready })} /> : null}
      </div>
      <footer className="foot">{query.data ? t.shown(shown.length) : null}</footer>
    </>
  );
}

const one = (): Group => "ready";

/** Cards keep their positions while the pointer or the focus is among them. */
function Held({ shown, view }: { shown: Deployment[]; view: string }) {
  const { held, on } = useHoverHold();
  const { placed, moved, settle } = useRowHold({ rows: shown, groupOf: one, held, view });
  const cards = useMemo(() => placed.map(({ row }) => row), [placed]);
  return (
    <div {...on}>
      <MovedNotice count={moved} settle={settle} />
      <Cards shown={cards} />
    </div>
  );
}

/** Nothing to open, or nothing that the filters leave over: those are named, and can be dropped. */
function None() {
  const [search, set] = useListSearch();
  const narrowed = sayFilters(search);
  if (!narrowed) return <EmptyState title={t.emptyTitle}>{t.empty}</EmptyState>;
  const clear = () => set({ q: undefined, env: undefined, ready: undefined });
  return (
    <EmptyState
      title={t.noMatchTitle}
      act={
        <Button act={t.clear} onClick={clear}>
          {t.clear}
        </Button>
      }
    >
      {t.noMatch(narrowed)}
    </EmptyState>
  );
}

function Filters({ all }: { all: Deployment[] }) {
  const [search, set] = useListSearch();
  const environments = [...new Set(all.map((one) => one.environment))].sort();
  return (
    <div className="filters">
      <SearchField label={t.findIn} placeholder={t.find} kept={search.q} set={(q) => set({ q })} />
      <div className="row gap-3">
        <select
          className="btn sm"
          aria-label={t.environment}
          value={String(search.env ?? "")}
          onChange={(event) => set({ env: event.target.value || undefined })}
        >
          <option value="">{t.any}</option>
          {environments.map((one) => (
            <option key={one}>{one}</option>
          ))}
        </select>
        <label className="ck s">
          <input
            type="checkbox"
            checked={search.ready === "yes"}
            onChange={(event) => set({ ready: event.target.checked ? "yes" : undefined })}
          />
          {t.onlyReady}
        </label>
      </div>
    </div>
  );
}
