import { getRouteApi, Link } from "@tanstack/react-router";
import { Search } from "lucide-react";
import type { Deployment } from "@/api/client";
import { stateWord } from "@/components/Status";
import { texts } from "@/texts";
import { Count } from "./Count";
import type { Filters } from "./filters";
import { SavedViews } from "./SavedViews";

const route = getRouteApi("/app/deployments");
const t = texts.list;

type Props = {
  /** Nothing while it is not known. */
  read?: Deployment[];
  filters: Filters;
  user: string;
};

/** Views as links, further filters as selects; all of it is in the URL. */
export function FilterBar({ read, filters, user }: Props) {
  const all = read ?? [];
  const navigate = route.useNavigate();
  const set = (change: Partial<Filters>) =>
    void navigate({ to: ".", search: (before) => ({ ...before, ...change }), replace: true });
  const views: [Filters["view"], string][] = [
    [undefined, t.view.all],
    ["mine", t.view.mine],
    ["attention", t.view.attention],
  ];
  return (
    <div className="filters">
      <nav className="tabs" aria-label={t.views}>
        {views.map(([view, label]) => (
          <Link
            key={label}
            className="tab"
            to="/deployments"
            search={(before) => ({ ...before, view })}
            aria-current={filters.view === view ? "page" : undefined}
            activeProps={{ "aria-current": filters.view === view ? "page" : undefined }}
          >
            {label} <Count read={read} filters={{ view }} user={user} />
          </Link>
        ))}
        <SavedViews read={read} filters={filters} user={user} />
      </nav>
      <div className="row end">
        <div className="in sm find">
          <Search className="i sm t3" aria-hidden="true" />
          <input
            id="find"
            type="search"
            placeholder={t.find}
            aria-label={t.filter}
            value={filters.q ?? ""}
            onChange={(event) => set({ q: event.target.value || undefined })}
            onKeyDown={(event) => event.key === "Escape" && event.currentTarget.blur()}
          />
          <kbd>/</kbd>
        </div>
        <div className="row hide-m">
          <Choice
            label={t.environment}
            any={t.anyEnvironment}
            value={filters.env}
            values={all.map((d) => d.environment)}
            set={(env) => set({ env })}
          />
          <Choice
            label={t.project}
            any={t.anyProject}
            value={filters.project}
            values={all.map((d) => d.project)}
            set={(project) => set({ project })}
          />
          <Choice
            label={t.state}
            any={t.anyState}
            value={filters.state}
            values={all.map((d) => d.status)}
            say={stateWord}
            set={(state) => set({ state })}
          />
        </div>
      </div>
    </div>
  );
}

type ChoiceProps = {
  label: string;
  any: string;
  value?: string;
  values: string[];
  say?: (value: string) => string;
  set: (value?: string) => void;
};

function Choice({ label, any, value, values, say = (text) => text, set }: ChoiceProps) {
  const known = [...new Set([...values, ...(value ? [value] : [])])].sort();
  return (
    <select
      className="btn sm"
      aria-label={label}
      value={value ?? ""}
      onChange={(event) => set(event.target.value || undefined)}
    >
      <option value="">{any}</option>
      {known.map((one) => (
        <option key={one} value={one}>
          {say(one)}
        </option>
      ))}
    </select>
  );
}
