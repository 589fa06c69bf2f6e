import { Menu } from "@base-ui/react/menu";
import { Check, Eye, Lock, Plus } from "lucide-react";
import { type KeyboardEvent, type ReactNode, useRef, useState } from "react";
import type { Schemas } from "@/api/client";
import { peopleTexts } from "@/pages/people/peopleTexts";
import type { Gift } from "./giveAccess";
import { levelOf, nameOf, type Target } from "./grants";
import { type At, clampCell, moveCell } from "./gridCells";
import type { Level } from "./levelChanges";

const t = peopleTexts.teams;
const a = peopleTexts.access;
type Team = Schemas["Team"];

/** What a column is about. */
export type Column = Target & { restricted?: boolean };
export type Change = { team: string; target: Column; level: Level };
type Place = { team: Team; target: Column };

const LEVELS: Level[] = ["full", "read", "none"];
const keyOf = (target: Target) => `${target.project ? "p" : "e"}/${nameOf(target)}`;

type Props = {
  teams: Team[];
  columns: Column[];
  change: (change: Change) => void;
  give: (gift: Gift) => void;
};

/** Teams by projects and environments: one stop of Tab, arrows inside, a menu of levels on Enter. */
export function Matrix({ teams, columns, change, give }: Props) {
  const [menu] = useState(() => Menu.createHandle<Place>());
  const [many] = useState(() => Menu.createHandle<Omit<Gift, "level">>());
  const names = teams.map((team) => team.name);
  const { grid, press, stop } = useRoving({ row: teams.length, column: columns.length });
  const projects = columns.filter((one) => one.project).length;
  return (
    <section className="ags" aria-label={t.gridTitle}>
      <table
        className="ag"
        // biome-ignore lint/a11y/noNoninteractiveElementToInteractiveRole: arrows lead through its cells.
        role="grid"
        aria-label={t.gridTitle}
        ref={grid}
        onKeyDownCapture={press}
      >
        <thead>
          <tr>
            <td />
            <Group span={projects}>{t.projects}</Group>
            <Group span={columns.length - projects}>{t.environments}</Group>
          </tr>
          <tr>
            <th scope="col" className="l">
              {a.team}
            </th>
            {columns.map((column, index) => (
              <Head key={keyOf(column)} column={column} first={index === projects}>
                <Menu.Trigger
                  handle={many}
                  payload={{ teams: names, targets: [column] }}
                  className="btn ghost sm ic gv"
                  {...stop({ row: -1, column: index })}
                  aria-label={a.giveColumn(nameOf(column))}
                  title={a.giveColumn(nameOf(column))}
                >
                  <Plus className="i sm" aria-hidden="true" />
                </Menu.Trigger>
              </Head>
            ))}
          </tr>
        </thead>
        <tbody>
          {teams.map((team, row) => (
            <tr key={team.name}>
              <th scope="row" className="l">
                <span className="row">
                  <span className="col grow min-w-0">
                    <b className="tr">{team.name}</b>
                    <span className="s t3">{a.people(team.members.length)}</span>
                  </span>
                  <Menu.Trigger
                    handle={many}
                    payload={{ teams: [team.name], targets: columns }}
                    className="btn ghost sm ic gv"
                    {...stop({ row, column: -1 })}
                    aria-label={a.giveRow(team.name)}
                    title={a.giveRow(team.name)}
                  >
                    <Plus className="i sm" aria-hidden="true" />
                  </Menu.Trigger>
                </span>
              </th>
              {columns.map((target, column) => (
                <td key={keyOf(target)} className={column === projects ? "e0" : undefined}>
                  <Menu.Trigger
                    handle={menu}
                    payload={{ team, target }}
                    className="cell"
                    data-level={levelOf(team.grants, target)}
                    {...stop({ row, column })}
                    aria-label={a.cell(
                      team.name,
                      nameOf(target),
                      a.said[levelOf(team.grants, target)],
                    )}
                  >
                    <Shown level={levelOf(team.grants, target)} />
                  </Menu.Trigger>
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      <Menu.Root handle={menu}>
        {({ payload }) => <Levels place={payload} change={change} />}
      </Menu.Root>
      <Menu.Root handle={many}>{({ payload }) => <Gifts gift={payload} give={give} />}</Menu.Root>
    </section>
  );
}

/** Which cell is the one stop of Tab, and the keys that lead to others. */
function useRoving(size: At) {
  const grid = useRef<HTMLTableElement>(null);
  const [last, setLast] = useState<At>({ row: 0, column: 0 });
  const at = clampCell(last, size);
  /** Captured: an arrow on a cell would open its menu. */
  const press = (event: KeyboardEvent) => {
    if (event.altKey || event.metaKey || !(event.target as Element).matches("[data-cell]")) return;
    const next = moveCell(at, event.key, event.ctrlKey, size);
    if (!next) return;
    event.preventDefault();
    event.stopPropagation();
    const cell = `[data-cell="${next.row}:${next.column}"]`;
    grid.current?.querySelector<HTMLElement>(cell)?.focus();
  };
  /** What makes a button one of those that arrows lead to. */
  const stop = (here: At) => ({
    "data-cell": `${here.row}:${here.column}`,
    tabIndex: here.row === at.row && here.column === at.column ? 0 : -1,
    onFocus: () => setLast(here),
  });
  return { grid, press, stop };
}

function Group({ span, children }: { span: number; children: string }) {
  if (span === 0) return null;
  return (
    <th scope="colgroup" colSpan={span} className="gr">
      {children}
    </th>
  );
}

type HeadProps = { column: Column; first: boolean; children: ReactNode };

function Head({ column, first, children }: HeadProps) {
  return (
    <th scope="col" className={first ? "e0" : undefined} title={nameOf(column)}>
      {column.restricted ? (
        <>
          <Lock className="i sm" aria-hidden="true" />
          <span className="vh">{t.restricted} </span>
        </>
      ) : null}
      {nameOf(column)}
      {children}
    </th>
  );
}

/** Ink and outline, and glyph and word: a grey print of the grid reads the same. */
function Shown({ level }: { level: Level }) {
  const Icon = level === "full" ? Check : Eye;
  return (
    <>
      {level === "none" ? null : <Icon className="i sm" aria-hidden="true" />}
      {t.levels[level]}
    </>
  );
}

type GiftsProps = { gift?: Omit<Gift, "level">; give: (gift: Gift) => void };

/** A level on everything that is shown of a row or a column. Those that have more keep it. */
function Gifts({ gift, give }: GiftsProps) {
  return (
    <Menu.Portal>
      <Menu.Positioner className="over" sideOffset={4} align="start">
        <Menu.Popup className="menu">
          {(["read", "full"] as const).map((level) => (
            <Menu.Item key={level} className="mi" onClick={() => gift && give({ ...gift, level })}>
              {a.giveLevel[level]}
              <span className="end s">{a.giveNote}</span>
            </Menu.Item>
          ))}
        </Menu.Popup>
      </Menu.Positioner>
    </Menu.Portal>
  );
}

/** The three levels; choosing the one it has changes nothing. */
function Levels({ place, change }: { place?: Place; change: (change: Change) => void }) {
  const now = place && levelOf(place.team.grants, place.target);
  const choose = (level: Level) => {
    if (place && level !== now) change({ team: place.team.name, target: place.target, level });
  };
  return (
    <Menu.Portal>
      <Menu.Positioner className="over" sideOffset={4} align="start">
        <Menu.Popup className="menu">
          <Menu.RadioGroup value={now} onValueChange={choose}>
            {LEVELS.map((level) => (
              <Menu.RadioItem key={level} value={level} className="mi" closeOnClick>
                <span className="w-3.5">
                  <Menu.RadioItemIndicator>
                    <Check className="i sm" aria-hidden="true" />
                  </Menu.RadioItemIndicator>
                </span>
                {a.choices[level]}
                <span className="end s">{a.means[level]}</span>
              </Menu.RadioItem>
            ))}
          </Menu.RadioGroup>
        </Menu.Popup>
      </Menu.Positioner>
    </Menu.Portal>
  );
}
