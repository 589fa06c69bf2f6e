import { Link } from "@tanstack/react-router";
import { runTexts as t } from "@/pages/deployment/runTexts";
import type { PageSearch } from "./search";

type Props = {
  view: PageSearch["view"];
  /** Without room for the graph, steps are a list. */
  narrow: boolean;
};

/** Whether the steps are a graph or bars on an axis of time. */
export function ViewTabs({ view, narrow }: Props) {
  return (
    <nav className="tabs px-2.5 pt-1.5" aria-label={t.view}>
      <Tab view={undefined} current={view} label={narrow ? t.steps : t.graph} />
      <Tab view="time" current={view} label={t.time} />
    </nav>
  );
}

function Tab({
  view,
  current,
  label,
}: {
  view: Props["view"];
  current: Props["view"];
  label: string;
}) {
  return (
    <Link
      className="tab"
      to="."
      params={(before: object) => before}
      search={(before: object) => ({ ...before, view })}
      replace
      activeOptions={{ exact: true, explicitUndefined: true }}
      aria-current={current === view ? "page" : undefined}
      activeProps={{ "aria-current": current === view ? "page" : undefined }}
    >
      {label}
    </Link>
  );
}
