import { startTexts } from "@/pages/start/startTexts";
import { mainUrl } from "../deployments/filters";
import { deploymentStep } from "./deploymentStep";
import { nodeStep } from "./nodeStep";
import { add, type StartState, type StartStep } from "./startStep";

const t = startTexts.steps;

/** The steps from nothing to an open URL, judged by what is there. */
export function startSteps(world: StartState): StartStep[] {
  const steps = [
    ...password(world),
    key(world),
    registry(world),
    environment(world),
    nodeStep(world.nodes),
    service(world),
    project(world),
    deploymentStep(world.deployments),
    open(world),
  ];
  const ways = steps.find(({ key, done }) => !done && (key === "service" || key === "project"));
  if (ways) ways.others = true;
  return steps;
}

/** How many are done of all that are listed, and the minutes that the rest takes. */
export function progress(steps: StartStep[]) {
  const left = steps.filter((step) => !step.done);
  return {
    done: steps.length - left.length,
    all: steps.length,
    minutes: left.reduce((sum, step) => sum + step.minutes, 0),
  };
}

function password({ password: changed }: StartState): StartStep[] {
  if (changed === undefined) return [];
  return [
    {
      key: "password",
      title: t.password.title,
      text: changed ? t.password.done : t.password.todo,
      done: changed,
      minutes: 1,
      before: true,
      way: { kind: "page", to: "/account", label: t.password.act },
    },
  ];
}

function key({ keys }: StartState): StartStep {
  const primary = keys.find((one) => one.primary && one.present);
  return {
    key: "key",
    title: t.key.title,
    text: primary ? t.key.done(primary.name) : t.key.todo,
    done: primary !== undefined,
    minutes: 1,
    before: true,
    way: { kind: "page", to: "/settings/keys", label: t.key.act },
  };
}

/** The public ones are known from the start: that is a place for images only once a service has one there. */
function registry({ registries, services }: StartState): StartStep {
  const used = services.map((one) => registries.find(({ name }) => name === one.registry));
  const first = registries.find((one) => !one.builtin) ?? used.find(Boolean);
  const known = registries.filter((one) => one.builtin).map((one) => one.host);
  const todo = known.length > 0 ? t.registry.known(known) : t.registry.todo;
  return {
    key: "registry",
    title: t.registry.title,
    text: first ? t.registry.done(first.host) : todo,
    done: first !== undefined,
    minutes: 1,
    way: add("/registries", t.registry.act),
    instead: known.length > 0 ? add("/services", t.registry.instead) : undefined,
  };
}

function environment({ environments }: StartState): StartStep {
  const first = environments[0];
  return {
    key: "environment",
    title: t.environment.title,
    text: first ? t.environment.done(first.name) : t.environment.todo,
    done: first !== undefined,
    minutes: 1,
    way: add("/environments", t.environment.act),
  };
}

function service({ services }: StartState): StartStep {
  return {
    key: "service",
    title: t.service.title,
    text: services.length > 0 ? t.service.done(services.length) : t.service.todo,
    done: services.length > 0,
    minutes: 1,
    way: add("/services", t.service.act),
  };
}

function project({ projects }: StartState): StartStep {
  const drawn = projects.find((one) => one.pipeline_version);
  const first = drawn ?? projects[0];
  const text = drawn
    ? t.project.done(drawn.name)
    : first
      ? t.project.unfinished(first.name)
      : t.project.todo;
  return {
    key: "project",
    title: t.project.title,
    text,
    done: drawn !== undefined,
    minutes: 3,
    way: first
      ? { kind: "pipeline", project: first.name, label: t.project.draw }
      : add("/projects", t.project.act),
  };
}

function open({ deployments, visited = false }: StartState): StartStep {
  const url = deployments.map(mainUrl).find(Boolean)?.url;
  return {
    key: "open",
    title: t.open.title,
    text: url ? t.open.done(url) : t.open.todo,
    done: url !== undefined && visited,
    minutes: 0,
    way: url ? { kind: "url", url, label: t.open.act } : undefined,
  };
}
