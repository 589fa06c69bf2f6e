import type { Deployment } from "@/api/client";
import { hasEnded } from "@/api/deploymentState";
import type { ListSearch } from "@/lists/listSearch";
import { urlTexts as t } from "@/pages/urls/urlTexts";

/** Whether there is anything to open of it. */
const isAnswering = ({ status, services, node_offline_since: off }: Deployment) =>
  status === "ready" && !off && services.some((one) => one.url && one.health === "healthy");

/** What the filters leave over, what answers first. */
export function filterDeployments(all: Deployment[], { q, env, ready }: ListSearch): Deployment[] {
  const search = q?.toLowerCase();
  return all
    .filter((one) => !hasEnded(one.status))
    .filter((one) => !env || one.environment === env)
    .filter((one) => ready !== "yes" || isAnswering(one))
    .filter((one) => !search || haystack(one).includes(search))
    .sort(byReadiness);
}

/** The filters in words. */
export function sayFilters({ q, env, ready }: ListSearch): string {
  const said = [env, ready === "yes" && t.onlyReady, q && `“${q}”`];
  return said.filter(Boolean).join(", ");
}

function byReadiness(a: Deployment, b: Deployment): number {
  return (
    Number(isAnswering(b)) - Number(isAnswering(a)) ||
    b.changed_at.localeCompare(a.changed_at) ||
    a.name.localeCompare(b.name)
  );
}

const haystack = (one: Deployment) =>
  [
    one.name,
    one.project,
    one.created_by,
    ...one.versions.map((version) => version.tag),
    ...one.services.map((service) => service.url ?? ""),
  ]
    .join("\n")
    .toLowerCase();
