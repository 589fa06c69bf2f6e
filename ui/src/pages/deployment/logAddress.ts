import { timeOf } from "./logStream";

/** How many lines of each source a log begins with. */
export const TAIL = 1000;
/** The API's maximum; used when a time says where the log starts. */
const ALL = 100_000;
/** How much of the log before a linked line is shown, in ms. */
const LEAD = 60_000;

export type Wish = {
  sources: string[];
  find?: string;
  /** The run, when it is not the latest. */
  run?: number;
  /** When the log begins. */
  since?: string;
  /** The line it is opened for. That one says where to begin, whatever time was chosen. */
  at?: string;
};

/** Whether the log begins with its last lines only, and earlier ones may be left out. */
export function isTail({ since, at, find }: Wish): boolean {
  return !since && !at && !find;
}

/** The query of a followed log. */
export function streamQuery(wish: Wish): string {
  const query = filterQuery(wish);
  query.append("follow", "true");
  query.append("tail", String(isTail(wish) ? TAIL : ALL));
  if (wish.at) query.set("since", leadTo(wish.at));
  return query.toString();
}

/** The same as a text, from its very first line. */
export function downloadQuery(wish: Wish): string {
  return filterQuery(wish).toString();
}

function filterQuery({ sources, find, run, since }: Wish): URLSearchParams {
  const query = new URLSearchParams(sources.map((source) => ["source", source]));
  if (find) query.set("search", find);
  if (run) query.set("run", String(run));
  if (since) query.set("since", since);
  return query;
}

function leadTo(id: string): string {
  const at = timeOf(id);
  return new Date((Number.isNaN(at) ? Date.now() : at) - LEAD).toISOString();
}
