import type { Schemas } from "@/api/client";
import { createTexts } from "@/pages/create/createTexts";
import { lastPlace } from "./lastPlace";
import type { CreateSearch } from "./search";

const t = createTexts;

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
  last = lastPlace(),
): Target {
  const project = search.project ?? clone?.source.project;
  const environment = search.env ?? clone?.source.environment;
  const problems = [noProject(projects, project), noEnvironment(environments, environment)];
  const drawn = projects.filter(hasPipeline);
  return {
    project: pick(drawn, project, last.project),
    environment: pick(environments, environment, last.environment),
    problems: problems.filter((one) => one !== undefined),
  };
}

/** The one that is named; else the one of last time, and else the first, of those that can take it. */
function pick<T extends Project | Environment>(
  all: T[],
  wanted?: string,
  last?: string,
): T | undefined {
  if (wanted) return all.find((one) => one.name === wanted);
  const allowed = all.filter((one) => one.can_create);
  const able = allowed.filter(canRun);
  for (const some of [able, allowed, all]) {
    const found = some.find((one) => one.name === last) ?? some[0];
    if (found) return found;
  }
  return undefined;
}

/** Whether a node is there that could run something. A project needs none. */
function canRun(one: Project | Environment): boolean {
  return !("nodes_online" in one) || one.nodes_online > 0;
}

/** The environments in which this person may make something, and the one that is chosen. */
export function environmentsFor(environments: Environment[], chosen?: Environment): Environment[] {
  return environments.filter((one) => one.can_create || one.name === chosen?.name);
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
