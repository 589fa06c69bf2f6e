import { plural } from "@/plural";

// What the list of URLs says: for people who test, often on a phone.

export const urlTexts = {
  title: "URLs",
  unread: "The deployments could not be read.",
  find: "Name, tag, person",
  findIn: "Find in URLs",
  any: "Every environment",
  environment: "Environment",
  onlyReady: "Only what answers",
  emptyTitle: "Nothing to open yet",
  empty: "URLs of deployments that you may see appear here as soon as they answer.",
  noMatchTitle: "Nothing matches",
  noMatch: (filters: string) => `Filters: ${filters}.`,
  clear: "Clear the filters",
  open: (service: string, name: string) => `Open ${service} of ${name}`,
  copy: (service: string) => `the URL of ${service}`,
  madeBy: (who: string) => `by ${who}`,
  closed: {
    starting: "It opens when it answers.",
    ready: "It does not answer now; it opens when it does.",
    failed: "It failed, so nothing answers.",
    undoing: "It failed and is being undone.",
    removing: "It is being removed.",
    stuck: "It is closed; its removal is stuck.",
    gone: "It is gone.",
    offline: (node: string) => `It opens when ${node} is back.`,
  },
  offline: (node: string) => `${node} is out of reach`,
  noUrls: "No service of it is open to browsers.",
  page: (name: string) => `Page of ${name}`,
  shown: (count: number) => plural(count, "deployment"),
  versions: "Versions",
};
