/** What of a step is shown beside the graph; its log without. */
export type StepTab = "input" | "output" | "earlier";
const stepTabs: unknown[] = ["input", "output", "earlier"];

/** How far back a log begins, in seconds; from its last lines without. */
export const logSpans = [600, 3600, 86_400];
/** How much time the curves show, in seconds. */
export const curveSpans = [600, 3600, 86_400, 604_800];

/** What the page of a deployment keeps in its address. */
export type PageSearch = {
  run?: number;
  step?: string;
  show?: StepTab;
  /** Whether the steps are shown as bars on an axis of time. */
  view?: "time";
  /** The number of a line in the step's log. */
  line?: number;
  /** The sources of the log, one after the other; of curves and a terminal the service. */
  log?: string;
  /** A line of the log. */
  at?: string;
  /** Only lines with this. */
  find?: string;
  since?: number;
  span?: number;
  /** The number of the mail that is open. */
  mail?: number;
  /** Of a bug report: the page of the application that it was begun from. */
  address?: string;
};

/** For validateSearch of both routes to the page. */
export function readPageSearch(search: Record<string, unknown>): PageSearch {
  return {
    run: count(search.run),
    step: text(search.step),
    show: stepTabs.includes(search.show) ? (search.show as StepTab) : undefined,
    view: search.view === "time" ? "time" : undefined,
    line: count(search.line),
    log: text(search.log),
    at: text(search.at),
    // Typed by hand, a number has no quotes; to look for it is to look for its digits.
    find: text(typeof search.find === "number" ? String(search.find) : search.find)?.slice(0, 200),
    since: oneOf(logSpans, search.since),
    span: oneOf(curveSpans, search.span),
    mail: count(search.mail),
    address: webAddress(search.address),
  };
}

/** The tabs that can show a run which is not the latest. */
const ofOneRun = ["run", "logs", "compare"];

/**
 * What goes along to another tab: which run, where that tab tells of one, and which of its steps. The
 * rest is the tab's own.
 */
export function acrossTabs(tab: string): (search: PageSearch) => PageSearch {
  return ({ run, step, show, view }) => {
    if (run === undefined || ofOneRun.includes(tab)) return { run, step, show, view };
    return {};
  };
}

/** The run that a tab shows. All but two know the latest only, whatever the address says. */
export function shownRun(tab: string, { run }: PageSearch, latest: number): number {
  return run !== undefined && ofOneRun.includes(tab) ? run : latest;
}

/** A ready deployment opens on its URLs, everything else on the run. */
export function firstTab(status: string, { run, step }: PageSearch): "run" | "services" {
  return status === "ready" && run === undefined && step === undefined ? "services" : "run";
}

function count(value: unknown): number | undefined {
  return typeof value === "number" && value > 0 ? Math.floor(value) : undefined;
}

function text(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** Only what a link may lead to: anybody can write the address of a page. */
function webAddress(value: unknown): string | undefined {
  return typeof value === "string" && /^https?:\/\//.test(value) ? value.slice(0, 2000) : undefined;
}

function oneOf(spans: number[], value: unknown): number | undefined {
  return spans.find((span) => span === value);
}
