import { plural } from "@/plural";

/** What the sheet that creates a deployment says. */
export const createTexts = {
  title: "New deployment",
  notYours: "Creating is not yours yet",
  of: "of",
  on: "on",
  project: "Project",
  environment: "Environment",
  chooseProject: "Choose a project",
  chooseEnvironment: "Choose an environment",
  version: (version: number) => `pipeline v${version}`,
  name: "Name",
  nameHint: "Small letters, digits and hyphens, at most 40.",
  nameWrong:
    "Use small letters, digits and hyphens: cart-redesign. At most 40, no hyphen at either end.",
  nameMissing: "Give it a name, such as cart-redesign.",
  versions: "Versions",
  count: (choose: number, pinned: number) =>
    pinned > 0 ? `${choose} to choose, ${pinned} pinned` : `${choose} to choose`,
  pinned: "pinned",
  choose: "Choose a version",
  tagMissing: (service: string) => `Choose a version of ${service}.`,
  submit: "Create deployment",
  busy: "Creating…",
  checks: "What will be made",
  hosts: "It will answer at",
  /** Stands for the deployment's name in those addresses until there is one. */
  hostName: "NAME",
  noHosts: "No service of this pipeline is open to browsers.",
  refused: "Not created",
  other: "Nothing was made.",
  placement: { node: "Node", cpu: "CPU free", memory: "Memory free", why: "Why not" },
  mend: (count: number) => `${plural(count, "thing")} to fix`,
  noPipeline: (project: string) => `${project} has no pipeline yet. An admin saves one first.`,
  noProject: (project: string) =>
    `There is no project ${project}, or you have no access to it. Choose another.`,
  noEnvironment: (environment: string) =>
    `There is no environment ${environment}, or you have no access to it. Choose another.`,
  noNodeOnline: "no node online",
  noNodes: (environment: string) =>
    `No node of ${environment} is online, so nothing can start there now.`,
  noneTitle: "There is nothing to create from",
  none: "Creating needs a project with a pipeline, an environment, and Full on one of them.",
  unread: "The projects could not be read.",
  stepsRun: (count: number) =>
    count === 1
      ? "One step; if it fails, it is undone"
      : `${plural(count, "step")}, one after the other; if one fails, the earlier ones are undone in reverse order`,
};
