// By what the list can be divided and sorted, as its address says it.

export const groupings = ["project", "branch", "pull", "owner", "environment"] as const;
export type Grouping = (typeof groupings)[number];

/** What the list can be sorted by: its columns. */
export const sortings = [
  "name",
  "state",
  "version",
  "environment",
  "owner",
  "left",
  "changed",
] as const;
export type Sorting = (typeof sortings)[number];
export type Sort = { by: Sorting; down: boolean };

/** "left" or "-left", as an address has it. */
export function readSort(text?: string): Sort | undefined {
  const down = text?.startsWith("-") ?? false;
  const by = sortings.find((one) => one === (down ? text?.slice(1) : text));
  return by && { by, down };
}

/** What the address says after a press on a column: up, then down, then as without. */
export function nextSort(by: Sorting, now?: string): string | undefined {
  if (now === by) return `-${by}`;
  return now === `-${by}` ? undefined : by;
}
