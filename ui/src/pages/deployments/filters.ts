import type { Deployment } from "@/api/client";
import { shownState } from "@/api/deploymentState";
import { type Grouping, groupings, readSort } from "./listOrder";

const views = ["mine", "attention", "removed"] as const;
type View = (typeof views)[number];

/** What the list shows; it lives in the URL and nowhere else. */
export type Filters = {
  view?: View;
  env?: string;
  project?: string;
  state?: string;
  q?: string;
  /** By what the list is divided; by state without. */
  group?: Grouping;
  /** By what it is sorted; the newest change first without. */
  sort?: string;
};

export function readFilters(search: Record<string, unknown>): Filters {
  const text = (value: unknown) => (typeof value === "string" && value !== "" ? value : undefined);
  return {
    view: views.find((view) => view === search.view),
    env: text(search.env),
    project: text(search.project),
    state: text(search.state),
    group: groupings.find((one) => one === search.group),
    sort: readSort(text(search.sort)) && text(search.sort),
    q: search.q === undefined ? undefined : text(String(search.q)),
  };
}

/** The filters without those that are not set, for an address. */
export function onlySet(filters: Filters): Filters {
  return Object.fromEntries(Object.entries(filters).filter(([, value]) => value));
}

/** Whether anything is left out beyond what the view leaves out. */
export function isNarrowed({ view: _, group: __, sort: ___, ...chosen }: Filters): boolean {
  return Object.values(chosen).some(Boolean);
}

/** What rows stand under: a state, or what they were divided by (see `arrange`). */
export type Group = string;
export const groups: Group[] = ["starred", "attention", "progress", "ready", "ended"];

/** Where a deployment stands in the list: what needs a person comes first. */
export function groupOf(deployment: Deployment): Group {
  switch (deployment.status) {
    case "failed":
    case "stuck":
      return "attention";
    case "canceled":
    case "removed":
    case "forgotten":
      return "ended";
    default:
      if (deployment.node_offline_since || waitsForMe(deployment)) return "attention";
      if (deployment.condition === "degraded") return "attention";
      return deployment.status === "ready" ? "ready" : "progress";
  }
}

/** Whether its run waits for an answer that this user may give. */
export function waitsForMe({ question }: Deployment): boolean {
  return Boolean(question?.may_answer && !question.answered_by);
}

/** The deployments a set of filters leaves over. */
export function filterDeployments(all: Deployment[], filters: Filters, user: string): Deployment[] {
  const search = filters.q?.toLowerCase();
  return all.filter(
    (deployment) =>
      (filters.view !== "mine" || deployment.created_by === user) &&
      (filters.view !== "attention" || groupOf(deployment) === "attention") &&
      (!filters.env || deployment.environment === filters.env) &&
      (!filters.project || deployment.project === filters.project) &&
      (!filters.state || shownState(deployment) === filters.state) &&
      (!search || searchText(deployment).includes(search)),
  );
}

function searchText(deployment: Deployment): string {
  return [
    deployment.name,
    deployment.created_by,
    ...deployment.versions.map((version) => version.tag),
    ...deployment.services.map((service) => service.url ?? ""),
  ]
    .join("\n")
    .toLowerCase();
}

/** Sorted as the groups show them: newest change first, then by name. */
export function byChange(a: Deployment, b: Deployment): number {
  return b.changed_at.localeCompare(a.changed_at) || a.name.localeCompare(b.name);
}

/** The URL a person most likely wants: the first healthy one, from the last service backwards. */
export function mainUrl(deployment: Deployment): { step: string; url: string } | undefined {
  if (deployment.status !== "ready" || deployment.node_offline_since) return undefined;
  const open = deployment.services.filter((service) => service.url);
  const chosen =
    open.find((service) => service.step === "web") ??
    open.findLast((service) => service.health === "healthy" && !service.ended) ??
    open[open.length - 1];
  return chosen?.url ? { step: chosen.step, url: chosen.url } : undefined;
}
