import type { Deployment, NodeInfo, Schemas } from "@/api/client";
import { startTexts } from "@/startTexts";
import { mainUrl } from "../deployments/filters";

const t = startTexts.steps;

/** Everything the way depends on; nothing is remembered, so it can be left at any point. */
export type World = {
  registries: Schemas["Registry"][];
  environments: Schemas["Environment"][];
  nodes: NodeInfo[];
  services: Schemas["Service"][];
  projects: Schemas["Project"][];
  deployments: Deployment[];
};

export type Way =
  | { kind: "page"; to: string; label: string; add?: boolean }
  | { kind: "pipeline"; project: string; label: string }
  | { kind: "deployment"; id: string; label: string }
  | { kind: "url"; url: string; label: string };

export type StartStep = {
  key: keyof typeof t;
  title: string;
  text: string;
  done: boolean;
  /** Something is under way and a person need only wait. */
  waiting?: boolean;
  way?: Way;
};

/** The steps from nothing to an open URL, judged by what is there. */
export function startSteps(world: World): StartStep[] {
  return [
    registry(world),
    environment(world),
    node(world),
    service(world),
    project(world),
    deployment(world),
    open(world),
  ];
}

const add = (to: string, label: string): Way => ({ kind: "page", to, label, add: true });

function registry({ registries }: World): StartStep {
  const first = registries.find((one) => !one.builtin) ?? registries[0];
  return {
    key: "registry",
    title: t.registry.title,
    text: first ? t.registry.done(first.host) : t.registry.todo,
    done: first !== undefined,
    way: add("/registries", t.registry.act),
  };
}

function environment({ environments }: World): StartStep {
  const first = environments[0];
  return {
    key: "environment",
    title: t.environment.title,
    text: first ? t.environment.done(first.name) : t.environment.todo,
    done: first !== undefined,
    way: add("/environments", t.environment.act),
  };
}

function node({ nodes }: World): StartStep {
  const online = nodes.find((one) => one.status === "online");
  const first = online ?? nodes[0];
  const text = online ? t.node.done(online.name) : first ? t.node.waiting(first.name) : t.node.todo;
  return {
    key: "node",
    title: t.node.title,
    text,
    done: online !== undefined,
    waiting: first !== undefined && online === undefined,
    way: first
      ? { kind: "page", to: `/nodes/${first.name}`, label: t.node.look }
      : { kind: "page", to: "/nodes", label: t.node.act },
  };
}

function service({ services }: World): StartStep {
  return {
    key: "service",
    title: t.service.title,
    text: services.length > 0 ? t.service.done(services.length) : t.service.todo,
    done: services.length > 0,
    way: add("/services", t.service.act),
  };
}

function project({ projects }: World): StartStep {
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
    way: first
      ? { kind: "pipeline", project: first.name, label: t.project.draw }
      : add("/projects", t.project.act),
  };
}

function deployment({ deployments }: World): StartStep {
  const ready = deployments.find((one) => one.status === "ready");
  const newest = ready ?? deployments[0];
  const failed = newest?.status === "failed" || newest?.status === "stuck";
  const text = ready
    ? t.deployment.done(ready.name)
    : newest
      ? failed
        ? t.deployment.failed(newest.name)
        : t.deployment.running(newest.name)
      : t.deployment.todo;
  return {
    key: "deployment",
    title: t.deployment.title,
    text,
    done: ready !== undefined,
    waiting: newest !== undefined && !ready && !failed,
    way: newest
      ? { kind: "deployment", id: newest.id, label: t.deployment.look }
      : { kind: "page", to: "/deployments/new", label: t.deployment.act },
  };
}

function open({ deployments }: World): StartStep {
  const url = deployments.map(mainUrl).find(Boolean)?.url;
  return {
    key: "open",
    title: t.open.title,
    text: url ? t.open.done(url) : t.open.todo,
    done: false,
    way: url ? { kind: "url", url, label: t.open.act } : undefined,
  };
}
