/**
 * The URL parameters of a list page: `q` is the search, `open` the entry whose sheet is open, `add`
 * that a new one is being created, `sheet` another open sheet of the page; every other parameter is
 * a filter.
 */
export type ListSearch = {
  q?: string;
  open?: string;
  add?: boolean;
  sheet?: string;
  [filter: string]: unknown;
};

/** For validateSearch of a route: texts only, each at most 200 characters, empty ones left out. */
export function readListSearch(search: Record<string, unknown>): ListSearch {
  const read: ListSearch = {};
  for (const [key, value] of Object.entries(search)) {
    if (key === "add") {
      if (value === true || value === "true") read.add = true;
      continue;
    }
    // A search for digits arrives as a number.
    const text = typeof value === "number" ? String(value) : value;
    if (typeof text === "string" && text !== "") read[key] = text.slice(0, 200);
  }
  return read;
}
