import { useSuspenseQuery } from "@tanstack/react-query";
import { getRouteApi, Outlet, useMatch } from "@tanstack/react-router";
import { useDeferredValue, useMemo } from "react";
import { me } from "@/api/queries/common";
import { LiveBadge, Top, useKeys, useTitle } from "@/components/Shell";
import { texts } from "@/texts";
import { fromList } from "../create/search";
import { compareBy } from "./arrange";
import { CreateLink } from "./CreateLink";
import { FilterBar } from "./FilterBar";
import { Footer } from "./Footer";
import { type Filters, filterDeployments, isNarrowed, onlySet } from "./filters";
import { ListNotices } from "./ListNotices";
import { readSort } from "./listOrder";
import { PresentList } from "./PresentList";
import { RemovedList } from "./RemovedList";
import { useList } from "./useList";
import { useRecords } from "./useRecords";

const route = getRouteApi("/app/deployments");
const none: Filters = {};

/** What is mine, what needs me, and the way to its URL. */
export function Deployments() {
  useTitle(texts.list.title);
  const { data: person } = useSuspenseQuery(me);
  const filters = useFilters();
  const navigate = route.useNavigate();
  const { query, live } = useList();
  const records = useRecords(filters);
  const all = query.data;
  const search = useDeferredValue(filters.q);
  const shown = useMemo(
    () =>
      filterDeployments(all ?? [], { ...filters, q: search }, person.name).sort(
        compareBy(readSort(filters.sort)),
      ),
    [all, filters, search, person.name],
  );
  const create = () => {
    if (person.can_create) void navigate({ to: "/deployments/new", search: fromList(filters) });
  };
  useKeys({
    n: create,
    "/": () => document.querySelector<HTMLInputElement>("#find")?.focus(),
  });
  // Without filters it is the view that leaves nothing over.
  const { view, group, sort } = filters;
  const rest = isNarrowed(filters) ? onlySet({ view, group, sort }) : onlySet({ group, sort });
  const clear = () => void navigate({ to: "/deployments", search: rest });
  const gone = filters.view === "removed";
  const said = gone ? saysRecords(records) : all && texts.list.shown(shown.length, all.length);

  return (
    <>
      <Top>
        <h1>{texts.list.title}</h1>
        <LiveBadge state={live} />
        <div className="end row">
          <CreateLink filters={filters} />
        </div>
      </Top>
      <ListNotices all={all ?? []} />
      <FilterBar
        read={all}
        records={gone ? records.rows : undefined}
        filters={filters}
        user={person.name}
      />
      {gone ? (
        <RemovedList records={records} filters={filters} clear={clear} />
      ) : (
        <PresentList query={query} shown={shown} filters={filters} clear={clear} />
      )}
      <Footer said={said} allowed={person.can_create} />
      <Outlet />
    </>
  );
}

/** Those of the address; under the sheet, whose address has words of its own, those it came with. */
function useFilters(): Filters {
  const own = route.useSearch();
  const sheet = useMatch({ from: "/app/deployments/new", shouldThrow: false });
  return sheet ? (sheet.search.list ?? none) : own;
}

function saysRecords({ rows, query }: ReturnType<typeof useRecords>): string | undefined {
  return rows && texts.list.goneShown(rows.length, query.hasNextPage);
}
