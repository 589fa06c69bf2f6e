import { ChevronDown, Columns3 } from "lucide-react";
import { lazy, Suspense, useState } from "react";
import { loadChunk } from "@/components/loadChunk";
import { texts } from "@/texts";
import { ownName } from "./arrange";
import { columns, type useColumns } from "./columns";
import type { Group } from "./filters";
import { type Grouping, nextSort, readSort, type Sorting } from "./listOrder";

const t = texts.list;

const ColumnMenu = lazy(() => loadChunk(() => import("./ColumnMenu")));

type HeadProps = {
  /** By what it is sorted, as the address says it. Without `onSort` it is sorted by the server. */
  sort?: string;
  onSort?: (sort?: string) => void;
  /** How many rows are marked, and of how many. */
  marked: number;
  rows: number;
  markAll: () => void;
  shown: ReturnType<typeof useColumns>;
};

/** The names of the columns: each sorts, and some can be hidden. */
export function Head({ sort, onSort, marked, rows, markAll, shown }: HeadProps) {
  const column = { sort, onSort };
  return (
    <div role="rowgroup">
      <div className="hd cols" role="row">
        <span role="columnheader">
          <span className="vh">{t.columns.line}</span>
        </span>
        <span role="columnheader" className="c-k">
          <label title={t.markAll}>
            <input
              type="checkbox"
              aria-label={t.markAll}
              checked={rows > 0 && marked === rows}
              ref={(box) => {
                if (box) box.indeterminate = marked > 0 && marked < rows;
              }}
              onChange={markAll}
            />
          </label>
        </span>
        <Column by="name" {...column} />
        <Column by="state" {...column} />
        {columns.map(({ key, cls }) => (
          <Column key={key} by={key} cls={cls} {...column} />
        ))}
        <span role="columnheader" className="c-x">
          <span className="vh">{t.columns.acts}</span>
          <ColumnChoice shown={shown} />
        </span>
      </div>
    </div>
  );
}

type ColumnProps = Pick<HeadProps, "sort" | "onSort"> & { by: Sorting; cls?: string };

/** A press sorts by it; the next one the other way round, and a third as before. */
function Column({ by, cls, sort, onSort }: ColumnProps) {
  const now = readSort(sort);
  const down = now?.by === by ? now.down : undefined;
  const order = { true: "descending", false: "ascending", undefined: "none" } as const;
  return (
    <span role="columnheader" className={cls} aria-sort={onSort && order[`${down}`]}>
      {onSort ? (
        <button type="button" onClick={() => onSort(nextSort(by, sort))}>
          {t.columns[by]}
          {down === undefined ? null : (
            <ChevronDown className={`i sm ${down ? "" : "up"}`} aria-hidden="true" />
          )}
        </button>
      ) : (
        t.columns[by]
      )}
    </span>
  );
}

/** The menu of the columns, which is loaded when it is opened. */
function ColumnChoice({ shown }: Pick<HeadProps, "shown">) {
  const [anchor, setAnchor] = useState<HTMLElement>();
  return (
    <>
      <button
        type="button"
        className="btn ghost sm ic"
        aria-label={t.chooseColumns}
        title={t.chooseColumns}
        aria-haspopup="menu"
        onClick={(event) => setAnchor(event.currentTarget)}
      >
        <Columns3 className="i sm" aria-hidden="true" />
      </button>
      {anchor ? (
        <Suspense fallback={null}>
          <ColumnMenu anchor={anchor} close={() => setAnchor(undefined)} shown={shown} />
        </Suspense>
      ) : null}
    </>
  );
}

type GroupProps = {
  group: Group;
  /** What the rows are divided by. */
  grouping?: Grouping;
  count: number;
  index: number;
  measure?: (row: HTMLElement | null) => void;
  closed: boolean;
  toggle: () => void;
};

/** The name of a group that is not a state. */
function nameOf(group: Group, by: Grouping | undefined): string | undefined {
  const name = ownName(group);
  if (name !== "") return name;
  return by === "pull" ? t.noPull : t.noBranch;
}

/** The name of a group, which folds it away. */
export function GroupHead(props: GroupProps) {
  const { group, grouping, count, index, measure, closed, toggle } = props;
  return (
    <div className="gh" role="row" aria-rowindex={index + 2} data-index={index} ref={measure}>
      <span role="cell">
        <button type="button" aria-expanded={!closed} onClick={toggle}>
          <ChevronDown className="i sm" aria-hidden="true" />
          <b>{nameOf(group, grouping) ?? t.groups[group as keyof typeof t.groups]}</b>
          <span className="t3">{count}</span>
        </button>
      </span>
    </div>
  );
}
