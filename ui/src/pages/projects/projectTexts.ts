import { plural } from "@/plural";

// What the list of projects and their settings say.

export const projectTexts = {
  title: "Projects",
  add: "New project",
  addTitle: "New project",
  unread: "The projects could not be read.",
  emptyTitle: "No project yet",
  empty:
    "A project ties services and plugins together by a pipeline. Deployments are copies of it.",
  emptyRead: "Projects you may read appear here. An admin can give access to them.",
  columns: {
    name: "Name",
    pipeline: "Pipeline",
    services: "Services",
    room: "Limits of a deployment",
    deployments: "Deployments",
    acts: "Settings",
  },
  anyPipeline: "With and without pipeline",
  withPipeline: "has a pipeline",
  withoutPipeline: "has none yet",
  noPipeline: "none yet",
  pipelineState: "Pipeline",
  settings: "Settings",
  settingsOf: (name: string) => `Settings of ${name}`,
  drawPipeline: "Pipeline",
  secrets: "Secrets",
  description: "Description",
  cores: (count: string) => (count === "1" ? "1 core" : `${count} cores`),
  cpu: "CPU, cores",
  memory: "Memory, MiB",
  limits:
    "For a whole deployment: its services together may not request more. Empty sets no limit.",
  cleanupLabel: "Remove deployments after so many hours without activity",
  cleanupHint: "Empty follows the environment; 0 is never.",
  environmentsLabel: "Only in these environments",
  environmentsHint:
    "Names with commas between; empty is every environment. Full access to any other one opens neither this project nor its secrets.",
  numberWrong: "Type a number, or nothing.",
  delete: (deployments: number) =>
    deployments > 0
      ? `It has ${plural(deployments, "deployment")} and cannot be deleted before they are removed.`
      : "Its pipeline with every version, and its secrets, are erased. This can't be taken back.",
  room: (cpu: string, memory: string) => [cpu, memory].filter(Boolean).join(", ") || "no limit",
};
