import { type CSSProperties, useMemo, useSyncExternalStore } from "react";
import type { Sorting } from "./listOrder";
import { read, subscribe, write } from "./stars";

/** The columns that can be hidden, with their widths and their class. */
export const columns = [
  { key: "version", width: "minmax(0, 1fr)", cls: "c-v" },
  { key: "environment", width: "84px", cls: "c-e" },
  { key: "owner", width: "104px", cls: "c-o" },
  { key: "left", width: "72px", cls: "c-l" },
  { key: "changed", width: "64px", cls: "c-a" },
] as const satisfies { key: Sorting; width: string; cls: string }[];
export type Column = (typeof columns)[number]["key"];

/** Shown in windows of every width; the others need room. */
const always: Column[] = ["version", "environment"];
const KEY = "nullops.columns";

/** The columns that this person hid. Broken storage hides none. */
export function readHidden(stored: string | null): Column[] {
  try {
    const list: unknown = JSON.parse(stored ?? "[]");
    if (!Array.isArray(list)) return [];
    return columns.map(({ key }) => key).filter((key) => list.includes(key));
  } catch {
    return [];
  }
}

/** The tracks of the list's grid without the hidden columns, in wide windows and in others. */
export function tracksOf(hidden: Column[]): { wide: string; medium: string } {
  const tracks = (among: Column[]) =>
    columns
      .filter(({ key }) => among.includes(key) && !hidden.includes(key))
      .map(({ width }) => width)
      .join(" ");
  const all = columns.map(({ key }) => key);
  return {
    wide: `4px 24px minmax(0, 1fr) minmax(0, 1.1fr) ${tracks(all)} 120px`,
    medium: `4px 24px minmax(0, 1.2fr) minmax(0, 1.2fr) ${tracks(always)} 120px`,
  };
}

/** Which columns are hidden, and how the list's table is drawn without them. */
export function useColumns() {
  const kept = useSyncExternalStore(subscribe, () => read(KEY));
  return useMemo(() => {
    const hidden = readHidden(kept);
    const { wide, medium } = tracksOf(hidden);
    return {
      hidden,
      toggle: (key: Column) =>
        write(
          KEY,
          JSON.stringify(
            hidden.includes(key) ? hidden.filter((one) => one !== key) : [...hidden, key],
          ),
        ),
      table: {
        "data-hidden": hidden.join(" ") || undefined,
        style: { "--cols": wide, "--cols-medium": medium } as CSSProperties,
      },
    };
  }, [kept]);
}
