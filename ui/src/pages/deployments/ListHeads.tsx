import { ChevronDown } from "lucide-react";
import { texts } from "@/texts";
import type { Group } from "./filters";

const t = texts.list;

/** The names of the columns. */
export function Head() {
  const c = t.columns;
  return (
    <div role="rowgroup">
      <div className="hd cols" role="row">
        <span role="columnheader">
          <span className="vh">{c.line}</span>
        </span>
        <span role="columnheader">{c.name}</span>
        <span role="columnheader">{c.state}</span>
        <span role="columnheader">{c.version}</span>
        <span role="columnheader">{c.environment}</span>
        <span role="columnheader" className="c-o">
          {c.by}
        </span>
        <span role="columnheader" className="c-l">
          {c.left}
        </span>
        <span role="columnheader" className="c-a">
          {c.active}
        </span>
        <span role="columnheader">
          <span className="vh">{c.acts}</span>
        </span>
      </div>
    </div>
  );
}

type GroupProps = {
  group: Group;
  count: number;
  index: number;
  measure?: (row: HTMLElement | null) => void;
  closed: boolean;
  toggle: () => void;
};

/** The name of a group, which folds it away. */
export function GroupHead({ group, count, index, measure, closed, toggle }: GroupProps) {
  return (
    <div className="gh" role="row" aria-rowindex={index + 2} data-index={index} ref={measure}>
      <span role="cell">
        <button type="button" aria-expanded={!closed} onClick={toggle}>
          <ChevronDown className="i sm" aria-hidden="true" />
          <b>{t.groups[group]}</b>
          <span className="t3">{count}</span>
        </button>
      </span>
    </div>
  );
}
