import { formatCount } from "@/components/quantity";

/** Texts of the choice of a version, loaded with it. */
export const tagTexts = {
  choose: "Choose a version",
  label: (service: string) => `Version of ${service}`,
  list: (service: string, order: string) => `Tags of ${service}, ${order}`,
  search: "Search tags",
  columns: { tag: "Tag", branch: "Branch", commit: "Commit", built: "Built" },
  order: "Order",
  newest: "Newest",
  version: "Version",
  newestFirst: "newest first",
  versionFirst: "highest version first",
  loading: "Reading the registry…",
  noMatch: (search: string) => `No tag contains “${search}”.`,
  none: "The registry has no tag that matches.",
  count: (matching: number, total: number) =>
    `${formatCount(matching)} of ${formatCount(total)} tags`,
  match: "match",
  age: (age: string) => `List is ${age} old`,
  fresh: "List is fresh",
  stale: (reason: string, age: string) =>
    `${reason} The list is ${age} old. You can use it: the tag is checked again when you create the deployment.`,
  staleReason: "The registry did not answer.",
  refresh: "Refresh",
  unread: "The tags could not be read.",
  restUnread: "The rest of the tags could not be read.",
};
