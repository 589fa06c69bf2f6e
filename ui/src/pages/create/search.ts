import { type Filters, onlySet, readFilters } from "../deployments/filters";

/** What the sheet keeps in its address, so that a link or a reload begins with it. */
export type CreateSearch = {
  project?: string;
  env?: string;
  /** What is cloned. */
  from?: string;
  template?: string;
  name?: string;
  /** The filters of the list, restored when the sheet closes. */
  list?: Filters;
  /** The version of a step: `v.api=v1.2`. */
  [version: `v.${string}`]: string | undefined;
};

/** For validateSearch of the route. */
export function readCreateSearch(search: Record<string, unknown>): CreateSearch {
  return {
    project: text(search.project),
    env: text(search.env),
    from: text(search.from),
    template: text(search.template),
    name: text(search.name)?.slice(0, 40),
    list: readList(search.list),
    ...Object.fromEntries(
      Object.entries(search).filter(([key, value]) => isVersion(key) && text(value)),
    ),
  };
}

function readList(list: unknown): Filters | undefined {
  if (!list || typeof list !== "object") return undefined;
  const filters = onlySet(readFilters(list as Record<string, unknown>));
  return Object.keys(filters).length > 0 ? filters : undefined;
}

/** The sheet opened from a list: it begins with what the list is narrowed to. */
export function fromList(filters: Filters): CreateSearch {
  const list = readList(filters);
  return list ? { project: list.project, env: list.env, list } : {};
}

const isVersion = (key: string) => key.startsWith("v.") && key.length > 2;

/** The versions that an address names, by step. */
export function versionsIn(search: CreateSearch): Record<string, string> {
  const named = Object.entries(search).filter(([key]) => isVersion(key));
  return Object.fromEntries(named.map(([key, tag]) => [key.slice(2), String(tag)]));
}

/** The same address with another name and other versions. */
export function withChoice(
  search: CreateSearch,
  name: string | undefined,
  versions: Record<string, string>,
): CreateSearch {
  const rest = Object.entries(search).filter(([key]) => !isVersion(key));
  const chosen = Object.entries(versions).map(([step, tag]) => [`v.${step}`, tag]);
  return { ...Object.fromEntries([...rest, ...chosen]), name: name || undefined };
}

/** Text only: an unquoted tag of digits arrives as a number, which may be another tag (1.20 is 1.2). */
function text(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}
