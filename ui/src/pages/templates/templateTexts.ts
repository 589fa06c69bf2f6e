import { plural } from "@/plural";

// What the templates page says: what new deployments of a project may begin with.

export const templateTexts = {
  title: "Templates",
  add: "Add template",
  addTitle: "Add a template",
  unread: "The templates could not be read.",
  emptyTitle: (project: string) => `${project} has no template yet`,
  empty:
    "A template is what new deployments begin with: an environment, a name and versions. Add one here, or keep what is chosen in the create sheet with Save as template.",
  emptyRead:
    "A template is what new deployments begin with: an environment, a name and versions. Whoever has Full on the project can add one.",
  noProjectTitle: "Templates belong to a project",
  noProject: "There is no project yet.",
  project: "Project",
  columns: {
    name: "Name",
    environment: "Environment",
    versions: "Versions",
    changed: "Last changed",
    acts: "Use",
  },
  anyEnvironment: "Every environment",
  unchosen: "not chosen",
  newest: "the default of each service",
  by: (name: string) => `by ${name}`,
  use: "Deploy",
  useOf: (name: string) => `Deploy ${name}`,
  description: "Description",
  environment: "Environment",
  noEnvironment: "Whoever creates chooses",
  deploymentName: "Name of the deployment",
  deploymentNameHint: "The beginning of the name; it can be changed when creating.",
  deploymentNameWrong: "Use small letters, digits and hyphens: cart-redesign.",
  versions: "Versions",
  versionsHint: "A service without a version gets its default tag when the deployment is created.",
  noVersions: "Nothing to choose: the project pins all its services, or has none.",
  asDefault: "Default",
  asDefaultOf: (step: string) => `Let ${step} have its default tag`,
  gone: (steps: string[]) =>
    `It also has versions for ${steps.join(", ")}, which can no longer be chosen: the project pins them, or its pipeline does not have them. Saving removes them.`,
  wait: "Wait when there is no room",
  waitHint: "The deployment is queued until a node has room, instead of being refused.",
  priority: "Priority in the queue",
  priorityHint: "From 0 to 255; lower numbers go first. Empty is 128.",
  priorityWrong: "Type a whole number from 0 to 255.",
  delete: "New deployments can no longer use it. Existing ones stay.",
  count: (count: number) => plural(count, "version"),
};
