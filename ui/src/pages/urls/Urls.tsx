import { Search } from "lucide-react";
import { useDeferredValue, useMemo } from "react";
import type { Deployment } from "@/api/client";
import { Button } from "@/components/Button";
import { Live, Top, useKeys, useTitle } from "@/components/Shell";
import { EmptyState, ErrorState, Skeletons } from "@/components/States";
import { ago } from "@/components/time";
import { texts } from "@/texts";
import { urlTexts as t } from "@/urlTexts";
import { useListSearch } from "../admin/useOpened";
import { useList } from "../deployments/useList";
import { Card } from "./Card";

const ENDED = ["removed", "forgotten", "canceled"];

/** What can be opened: state, versions and who made it. Made for a phone, good on a desk. */
export function Urls() {
  useTitle(t.title);
  const { query, live } = useList();
  const [search, set] = useListSearch();
  const q = useDeferredValue(search.q)?.toLowerCase();
  const shown = useMemo(
    () =>
      (query.data ?? [])
        .filter((one) => !ENDED.includes(one.status))
        .filter((one) => !search.env || one.environment === search.env)
        .filter((one) => search.ready !== "yes" || answers(one))
        .filter((one) => !q || haystack(one).includes(q))
        .sort(byReadiness),
    [query.data, search.env, search.ready, q],
  );
  useKeys({ "/": () => document.querySelector<HTMLInputElement>("#find")?.focus() });
  return (
    <>
      <Top>
        <h1>{t.title}</h1>
        <Live state={live} />
      </Top>
      <Filters all={query.data ?? []} />
      <div className="body" aria-busy={query.isPending}>
        {query.isError ? (
          <ErrorState
            what={t.unread}
            error={query.error}
            retry={() => void query.refetch()}
            stale={query.data ? texts.stale(ago(query.dataUpdatedAt, Date.now())) : undefined}
          />
        ) : null}
        {query.isPending ? <Skeletons count={6} height={96} /> : null}
        {query.data?.length === 0 ? <EmptyState title={t.emptyTitle}>{t.empty}</EmptyState> : null}
        {query.data && query.data.length > 0 && shown.length === 0 ? (
          <EmptyState
            title={t.noMatchTitle}
            act={
              <Button onClick={() => set({ q: undefined, env: undefined, ready: undefined })}>
                {t.clear}
              </Button>
            }
          />
        ) : null}
        <ul className="urls">
          {shown.map((one) => (
            <Card key={one.id} deployment={one} />
          ))}
        </ul>
      </div>
      <footer className="foot">{query.data ? t.shown(shown.length) : null}</footer>
    </>
  );
}

function Filters({ all }: { all: Deployment[] }) {
  const [search, set] = useListSearch();
  const environments = [...new Set(all.map((one) => one.environment))].sort();
  return (
    <div className="filters">
      <div className="in sm find">
        <Search className="i sm t3" aria-hidden="true" />
        <input
          id="find"
          type="search"
          placeholder={t.find}
          aria-label={t.findIn}
          value={search.q ?? ""}
          onChange={(event) => set({ q: event.target.value || undefined })}
          onKeyDown={(event) => event.key === "Escape" && event.currentTarget.blur()}
        />
        <kbd>/</kbd>
      </div>
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

const answers = (one: Deployment) => one.status === "ready" && !one.node_offline_since;

function byReadiness(a: Deployment, b: Deployment): number {
  return (
    Number(answers(b)) - Number(answers(a)) ||
    b.changed_at.localeCompare(a.changed_at) ||
    a.name.localeCompare(b.name)
  );
}

const haystack = (one: Deployment) =>
  [
    one.name,
    one.project,
    one.created_by,
    ...one.versions.map((version) => version.tag),
    ...one.services.map((service) => service.url ?? ""),
  ]
    .join("\n")
    .toLowerCase();
