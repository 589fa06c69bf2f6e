import type { Deployment } from "@/api/client";
import { shownState } from "@/api/deploymentState";
import { byChange, type Group, groupOf, groups } from "./filters";
import type { Grouping, Sort, Sorting } from "./listOrder";

// In which groups and in which order the list stands.

/** The version that stands for a deployment: that of its web service, or the first one chosen. */
export function mainVersion({ versions }: Deployment): Deployment["versions"][number] | undefined {
  const chosen = versions.filter((version) => version.tag_mode === "selectable");
  return chosen.find((version) => version.step === "web") ?? chosen[0] ?? versions[0];
}

/** A build at the end of a tag: a commit, or a number. */
const BUILD = /[-_.]g?(?:[0-9a-f]{7,40}|\d+)$/;

/** The branch that the main version's tag names; "" for a release, which is of none. */
export function branchOf(deployment: Deployment): string {
  const tag = mainVersion(deployment)?.tag ?? "";
  const branch = tag.replace(BUILD, "");
  return branch === tag || /^v?\d/.test(branch) ? "" : branch;
}

/** How the pull request is called that it was made for; "" for none. */
export function pullOf({ pull_request }: Deployment): string {
  if (!pull_request) return "";
  const { repository = "", number, title } = pull_request;
  return `${repository}#${number}${title ? ` ${title}` : ""}`;
}

const sortValue: Record<Sorting, (one: Deployment) => string> = {
  name: ({ name }) => name,
  state: shownState,
  version: (one) => mainVersion(one)?.tag ?? "",
  environment: ({ environment }) => environment,
  owner: ({ created_by }) => created_by,
  // What is never removed has the most time left.
  left: ({ expires_at }) => expires_at ?? "9999",
  changed: ({ changed_at }) => changed_at,
};

/** How two deployments are sorted; those that are equal as without. */
export function compareBy(sort?: Sort): (a: Deployment, b: Deployment) => number {
  if (!sort) return byChange;
  const value = sortValue[sort.by];
  const sign = sort.down ? -1 : 1;
  return (a, b) => sign * value(a).localeCompare(value(b)) || byChange(a, b);
}

/** Names of groups that are not states, so that a project called ready is not one. */
const OWN = "=";

/** The group of each row: favourites first, then what was chosen, or else by state. */
export function groupsBy(
  grouping: Grouping | undefined,
  isStarred: (id: string) => boolean,
): (row: Deployment) => Group {
  const name = {
    project: (row: Deployment) => row.project,
    branch: branchOf,
    pull: pullOf,
    owner: (row: Deployment) => row.created_by,
    environment: (row: Deployment) => row.environment,
  };
  return (row) => {
    if (isStarred(row.id)) return "starred";
    return grouping ? `${OWN}${name[grouping](row)}` : groupOf(row);
  };
}

/** What a group is called that is not one of the states; undefined for those. */
export function ownName(group: Group): string | undefined {
  return group.startsWith(OWN) ? group.slice(OWN.length) : undefined;
}

/** The order of groups: states in theirs, all others by name, and what has none last. */
export function compareGroups(a: Group, b: Group): number {
  const [left, right] = [ownName(a), ownName(b)];
  if (left !== undefined && right !== undefined)
    return Number(left === "") - Number(right === "") || left.localeCompare(right);
  return rankOf(a) - rankOf(b);
}

/** Favourites come first, whatever the others are. */
function rankOf(group: Group): number {
  const rank = groups.indexOf(group);
  return rank < 0 ? groups.length : rank;
}
