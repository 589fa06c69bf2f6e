import { getRouteApi } from "@tanstack/react-router";
import type { Deployment } from "@/api/client";
import { texts } from "@/texts";
import { FilterSelects } from "./FilterSelects";
import type { Filters } from "./filters";
import { SavedViews } from "./SavedViews";
import { SearchField } from "./SearchField";
import { ViewCount } from "./ViewCount";
import { ViewTab } from "./ViewTab";
import { sameFilters, useViews } from "./views";

const route = getRouteApi("/app/deployments");
const t = texts.list;

const given: [Filters["view"], string][] = [
  [undefined, t.view.all],
  ["mine", t.view.mine],
  ["attention", t.view.attention],
  ["removed", t.view.removed],
];

type Props = {
  /** What runs. Nothing while it is not known. */
  read?: Deployment[];
  /** Records that were read too. */
  records?: Deployment[];
  filters: Filters;
  user: string;
};

/** Views as links, further filters as selects; all of it is in the URL. */
export function FilterBar({ read, records, filters, user }: Props) {
  const navigate = route.useNavigate();
  const set = (change: Partial<Filters>) =>
    void navigate({ to: ".", search: (before) => ({ ...before, ...change }), replace: true });
  return (
    <div className="filters">
      <Views read={read} filters={filters} user={user} />
      <div className="row end">
        <SearchField
          label={t.filter}
          placeholder={t.find}
          kept={filters.q}
          set={(q) => set({ q })}
        />
        <FilterSelects filters={filters} listed={[...(read ?? []), ...(records ?? [])]} set={set} />
      </div>
    </div>
  );
}

/** The given views and a person's own. One is current: their own, when it shows just this. */
function Views({ read, filters, user }: Omit<Props, "records">) {
  const saved = useViews(user);
  const here = saved.views.find((one) => sameFilters(one.filters, filters));
  return (
    <nav className="tabs" aria-label={t.views}>
      {given.map(([view, label]) => (
        <ViewTab
          key={label}
          filters={{ ...filters, view }}
          current={!here && filters.view === view}
        >
          {label} <ViewCount read={read} filters={{ ...filters, view }} user={user} />
        </ViewTab>
      ))}
      <SavedViews saved={saved} here={here} read={read} filters={filters} user={user} />
    </nav>
  );
}
