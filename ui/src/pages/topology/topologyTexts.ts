import { plural } from "@/plural";

/** What the picture of environments, nodes and deployments says. */
export const topologyTexts = {
  title: "Topology",
  hint: "Each environment with its nodes, and what runs on each. A bar is what is used of a node, its mark what is allocated.",
  unread: "The nodes and deployments could not be read.",
  emptyTitle: "There is no environment yet",
  empty: "Environments, their nodes and what runs on them appear here as one picture.",
  nodes: (count: number) => plural(count, "node"),
  deployments: (count: number) => plural(count, "deployment"),
  troubles: (count: number) => (count === 1 ? "1 needs attention" : `${count} need attention`),
  onlyTroubles: "Only what needs attention",
  allWell: "Nothing here needs attention.",
  noNode: "This environment has no node, so nothing can run in it.",
  waiting: "On no node yet",
  idle: "Nothing runs here.",
  more: (count: number) => `and ${plural(count, "more", "more")}`,
  of: (name: string, state: string, project: string) => `${name} of ${project}: ${state}`,
};
