import type { Schemas } from "@/api/client";
import { texts } from "@/texts";
import type { CreateSearch } from "./search";

const t = texts.create;

export type Project = Schemas["Project"];
export type Environment = Schemas["Environment"];
export type Clone = Schemas["CloneSheet"];

/** What the sheet is drawn from. */
export type Read = {
  projects: Project[];
  environments: Environment[];
  /** What is cloned, and how the clone would differ. */
  clone?: Clone;
};

export type Target = {
  project?: Project;
  environment?: Environment;
  /** Why what was named is not chosen. */
  problems: string[];
};

export const hasPipeline = (project: Project) => Boolean(project.pipeline_version);

/** Where it will be made: what the address or the clone names, and never another in its stead. */
export function resolveTarget(
  { projects, environments, clone }: Read,
  search: CreateSearch,
): Target {
  const project = search.project ?? clone?.source.project;
  const environment = search.env ?? clone?.source.environment;
  const problems = [noProject(projects, project), noEnvironment(environments, environment)];
  return {
    project: pick(projects.filter(hasPipeline), project),
    environment: pick(environments, environment),
    problems: problems.filter((one) => one !== undefined),
  };
}

/** The one that is named; without a name the first in which this person may create. */
function pick<T extends Project | Environment>(all: T[], wanted?: string): T | undefined {
  if (wanted) return all.find((one) => one.name === wanted);
  return all.find((one) => one.can_create) ?? all[0];
}

function noProject(all: Project[], wanted?: string): string | undefined {
  const found = all.find((one) => one.name === wanted);
  if (!wanted || (found && hasPipeline(found))) return undefined;
  return found ? t.noPipeline(wanted) : t.noProject(wanted);
}

function noEnvironment(all: Environment[], wanted?: string): string | undefined {
  if (!wanted || all.some((one) => one.name === wanted)) return undefined;
  return t.noEnvironment(wanted);
}

/** Why nothing can be made there. */
export function whyNoTarget({ project, environment, problems }: Target): string | undefined {
  if (problems[0]) return problems[0];
  if (!project) return t.chooseProject;
  return environment ? undefined : t.chooseEnvironment;
}
